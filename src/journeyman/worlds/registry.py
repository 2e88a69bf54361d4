"""Environment types by name: a literal dict, so that nothing is imported before it is named."""

import difflib
import random
from functools import cache
from importlib import import_module
from typing import Any

from journeyman.errors import UserError
from journeyman.records.task import Plan, Size, Split
from journeyman.worlds.base import EnvironmentType, WorldDraft

ENVIRONMENT_TYPES: dict[str, str] = {
    "finance.board_forecast": "journeyman.worlds.types.board_forecast:BoardForecast",
    "law.covenant_certificate": "journeyman.worlds.types.covenant_certificate:CovenantCertificate",
    "consulting.vendor_benchmark": "journeyman.worlds.types.vendor_benchmark:VendorBenchmark",
    "operations.warehouse_exception": "journeyman.worlds.types.warehouse_exception:WarehouseException",
    "finance.three_way_match": "journeyman.worlds.types.three_way_match:ThreeWayMatch",
    "finance.fund_valuation": "journeyman.worlds.types.fund_valuation:FundValuation",
    "finance.debt_capacity": "journeyman.worlds.types.debt_capacity:DebtCapacity",
    "finance.bank_reconciliation": "journeyman.worlds.types.bank_reconciliation:BankReconciliation",
    "finance.comparable_multiples": "journeyman.worlds.types.comparable_multiples:ComparableMultiples",
    "finance.hedge_ratio": "journeyman.worlds.types.hedge_ratio:HedgeRatio",
    "finance.dividend_check": "journeyman.worlds.types.dividend_check:DividendCheck",
    "law.contract_renewal": "journeyman.worlds.types.contract_renewal:ContractRenewal",
    "operations.carrier_claim": "journeyman.worlds.types.carrier_claim:CarrierClaim",
    "finance.distribution_waterfall": "journeyman.worlds.types.distribution_waterfall:DistributionWaterfall",
    "law.limitation_date": "journeyman.worlds.types.limitation_date:LimitationDate",
    "law.damages_schedule": "journeyman.worlds.types.damages_schedule:DamagesSchedule",
    "law.breach_notice": "journeyman.worlds.types.breach_notice:BreachNotice",
    "law.diligence_findings": "journeyman.worlds.types.diligence_findings:DiligenceFindings",
    "finance.budget_variance": "journeyman.worlds.types.budget_variance:BudgetVariance",
    "law.sanctions_screening": "journeyman.worlds.types.sanctions_screening:SanctionsScreening",
    "consulting.market_sizing": "journeyman.worlds.types.market_sizing:MarketSizing",
    "consulting.spans_layers": "journeyman.worlds.types.spans_layers:SpansLayers",
    "consulting.headcount_plan": "journeyman.worlds.types.headcount_plan:HeadcountPlan",
    "consulting.survey_reading": "journeyman.worlds.types.survey_reading:SurveyReading",
    "consulting.customer_concentration": "journeyman.worlds.types.customer_concentration:CustomerConcentration",
    "consulting.cost_baseline": "journeyman.worlds.types.cost_baseline:CostBaseline",
    "consulting.entry_decision": "journeyman.worlds.types.entry_decision:EntryDecision",
    "operations.batch_release": "journeyman.worlds.types.batch_release:BatchRelease",
    "operations.downtime_analysis": "journeyman.worlds.types.downtime_analysis:DowntimeAnalysis",
    "operations.work_order": "journeyman.worlds.types.work_order:WorkOrder",
    "finance.borrowing_base": "journeyman.worlds.types.borrowing_base:BorrowingBase",
    "finance.limit_breach": "journeyman.worlds.types.limit_breach:LimitBreach",
    "operations.service_charge": "journeyman.worlds.types.service_charge:ServiceCharge",
    "operations.replenishment": "journeyman.worlds.types.replenishment:Restocking",
    "finance.loan_loss": "journeyman.worlds.types.loan_loss:LoanLoss",
}

DEFAULT_TYPES: tuple[str, ...] = tuple(ENVIRONMENT_TYPES)[:4]  # what a recipe makes that names no types


@cache
def environment_type(name: str) -> EnvironmentType[Any]:
    """The environment type `name`, or one given as "module:Class". Raises UserError naming the nearest known name."""
    target = ENVIRONMENT_TYPES.get(name, name)
    module, _, attribute = target.partition(":")
    if not attribute:
        near = difflib.get_close_matches(name, ENVIRONMENT_TYPES, n=1, cutoff=0.0)[0]
        raise UserError(f"no environment type {name!r}; did you mean {near!r}?")
    try:
        made: EnvironmentType[Any] = getattr(import_module(module), attribute)()
    except (ImportError, AttributeError) as error:
        raise UserError(f"environment type {target!r} cannot be loaded ({error}); check module:Class") from error
    return made


def make_world(name: str, seed: int, split: Split, size: Size) -> WorldDraft:
    """The world of one (type, seed, split) in one size."""
    kind = environment_type(name)
    truth = kind.truth(seed, split)
    return kind.compact(truth) if size == "compact" else kind.standard(truth)


def demonstrations(name: str, seed: int, split: Split, count: int, *, salt: int = 0) -> tuple[Plan, ...]:
    """`count` expert runs for the compact world of (type, seed, split); `salt` gives other draws of the same world."""
    kind = environment_type(name)
    rng = random.Random(f"demonstrations:{name}:{split}:{seed}:{salt}")
    return kind.demonstrations(kind.truth(seed, split), rng, count)
