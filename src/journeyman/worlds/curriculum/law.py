"""Law: 4 practice areas, 15 environment types."""

from journeyman.worlds.curriculum.entries import area, entry

AREAS = (
    area(
        "banking and finance",
        "law",
        "partner associate officer agent_contact counsel",
        "facility: term revolving bridge lease bond guarantee; "
        "governing_law: English French German Dutch; stage: signing drawdown amendment default",
        entry(
            "law.covenant_certificate",
            "Covenant certificate under the document that governs",
            "",
            "certificate report notice",
            "supersession lookalike authority",
        ),
        entry(
            "law.conditions_precedent",
            "Conditions precedent satisfied, waived or open",
            "grc",
            "checklist memo letter",
            "missing authority supersession",
            "kind: corporate legal tax insurance; form: original copy; waiver: agent lenders none",
        ),
        entry(
            "law.security_review",
            "Which assets are validly charged",
            "",
            "memo table note",
            "exception lookalike cutoff",
            "asset: shares land claims stock; defect: filing date name; priority: first second",
        ),
        entry(
            "law.consent_threshold",
            "Whether a consent was given by enough lenders",
            "crm",
            "memo letter note",
            "lookalike exception cutoff",
            "matter: margin maturity release; class: majority super all; transfer: yes no",
        ),
    ),
    area(
        "litigation",
        "law",
        "partner associate client_counsel clerk expert",
        "court: commercial labour patent state; "
        "claim: debt delay defect licence; stage: pleading disclosure trial appeal",
        entry(
            "law.matter_chronology",
            "Chronology of what was known when",
            "ticketing",
            "chronology memo table",
            "cutoff conflict lookalike",
            "issue: notice knowledge loss; source: mail minute log; gap: one two",
        ),
        entry(
            "law.privilege_log",
            "Privileged, redacted or to be disclosed",
            "grc",
            "log memo table",
            "authority exception lookalike",
            "claim_of: counsel litigation none; waiver: copied forwarded; party: client third",
        ),
        entry(
            "law.limitation_date",
            "When a claim is out of time",
            "",
            "opinion letter note",
            "exception supersession authority",
        ),
        entry(
            "law.damages_schedule",
            "Damages that the contract allows",
            "",
            "schedule brief statement",
            "exception claim lookalike",
        ),
    ),
    area(
        "corporate and contracts",
        "law",
        "partner associate client_counsel buyer secretary",
        "goods: software freight paper staff machines energy; "
        "form: frame order letter terms; stage: draft signing renewal exit",
        entry(
            "law.contract_renewal",
            "Renewal or notice under amended terms",
            "",
            "opinion letter note",
            "supersession authority exception",
        ),
        entry(
            "law.deviation_table",
            "Deviations from the playbook",
            "",
            "table memo markup",
            "authority exception lookalike",
            "clause: cap indemnity term law; fallback: first second none; approver: lead head board",
        ),
        entry(
            "law.diligence_findings",
            "Change of control in a data room",
            "",
            "findings report table",
            "supersession lookalike cutoff",
        ),
        entry(
            "law.board_resolution",
            "Whether a resolution was validly passed",
            "grc",
            "memo minutes note",
            "authority exception conflict",
            "quorum: three four half; interest: declared hidden; form: meeting circular",
        ),
    ),
    area(
        "regulatory and data",
        "law",
        "partner compliance data_officer counsel regulator_contact",
        "regime: privacy sanctions competition licensing; country: Germany France Ireland Poland; "
        "trigger: audit breach request; size: small mid large",
        entry(
            "law.breach_notice",
            "Whether and when a breach is notified",
            "",
            "review report schedule",
            "conflict unit lookalike",
        ),
        entry(
            "law.sanctions_screening",
            "A hit that is or is not the listed party",
            "crm",
            "review note log",
            "supersession lookalike exception",
        ),
        entry(
            "law.filing_deadline",
            "Filings due after a corporate event",
            "grc",
            "table memo note",
            "exception cutoff supersession",
            "event: director address capital; day: work calendar; extension: asked granted none",
        ),
    ),
)
