"""Operations: 3 practice areas, 11 environment types."""

from journeyman.worlds.curriculum.entries import area, entry

AREAS = (
    area(
        "logistics",
        "operations",
        "supervisor planner carrier customer_contact safety_lead",
        "goods: tiles paper pumps cheese cables glass; site: north south east west; "
        "priority: low normal high; mode: road rail sea",
        entry(
            "operations.warehouse_exception",
            "Order without a dock",
            "wms ticketing",
            "ticket",
            "exception authority claim",
        ),
        entry(
            "operations.stock_count",
            "Count that differs from the system",
            "wms",
            "report note log",
            "lookalike cutoff unit",
            "cause: pick receipt label; limit: units value; action: recount adjust",
        ),
        entry(
            "operations.carrier_claim",
            "Claim against a carrier in time",
            "tms",
            "letter report record",
            "supersession lookalike authority",
        ),
        entry(
            "operations.replenishment",
            "Order tool mended, and the order it should give",
            "",
            "note schedule log report",
            "missing exception unit",
        ),
    ),
    area(
        "manufacturing and quality",
        "operations",
        "quality_lead plant_manager planner operator customer_contact",
        "product: valve board gasket pump cable; line: one two three four; "
        "shift: early late night; stage: incoming process final",
        entry(
            "operations.batch_release",
            "Batch released, reworked or blocked",
            "mes grc",
            "report paper record",
            "supersession exception lookalike",
        ),
        entry(
            "operations.supplier_corrective",
            "Corrective action that is effective",
            "mes grc",
            "report memo log",
            "claim cutoff lookalike",
            "root: tool method part; proof: audit data; lot: old new",
        ),
        entry(
            "operations.downtime_analysis",
            "Lost hours by cause",
            "mes",
            "report workbook summary",
            "conflict exception missing",
        ),
        entry(
            "operations.change_control",
            "Change that may go into production",
            "mes grc",
            "memo log note",
            "authority supersession exception",
            "change: part tool recipe; trial: one two; approver: site group",
        ),
    ),
    area(
        "property and facilities",
        "operations",
        "property_manager tenant_contact accountant engineer owner",
        "building: office store depot flat; city: Leeds Lyon Porto Ghent; "
        "currency: EUR GBP CHF; season: winter spring summer autumn",
        entry(
            "operations.service_charge",
            "Service charge by lease and area",
            "property",
            "statement schedule letter",
            "exception supersession cutoff",
        ),
        entry(
            "operations.rent_review",
            "Rent after indexation",
            "property",
            "letter memo note",
            "supersession cutoff exception",
            "index: old new chained; cap: yes no; month: base notice; rounding: up down",
        ),
        entry(
            "operations.work_order",
            "Work order within duty and budget",
            "property",
            "record letter report",
            "cutoff exception lookalike",
        ),
    ),
)
