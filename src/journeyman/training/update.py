"""One batch's gradient: forward and backward over micro-batches. The sum does not depend on how the batch was cut."""

from collections.abc import Sequence

from torch import nn

from journeyman.training.batch import RlBatch
from journeyman.training.config import ForwardConfig
from journeyman.training.diagnostics import RatioSums
from journeyman.training.forward import Pace, make_forward
from journeyman.training.objectives.base import Objective


def backward(
    model: nn.Module,
    objective: Objective,
    batch: RlBatch,
    forward: ForwardConfig,
    temperature: float = 1.0,
    mine: Sequence[int] | None = None,
    pace: Pace | None = None,
) -> RatioSums:
    """Add the batch's gradient to the parameters' and return what was seen.

    `mine`: the rows this worker computes (None: all), whole members each; N counts the whole batch, so gradients
    of several workers are summed, not averaged. `pace`: given iff the workers hold the model together.
    """
    totals = batch.totals
    chosen = list(range(len(batch.rows))) if mine is None else list(mine)
    place = {row: at for at, row in enumerate(chosen)}
    atoms = [[place[row] for row in rows] for rows in batch.atoms() if rows[0] in place]
    session = make_forward(model, forward, temperature, pace=pace).open(
        [batch.rows[i] for i in chosen], atoms if objective.whole_members else None
    )
    sums = RatioSums()
    for indexes in session.micro_batches():
        scored = session.score(indexes)
        if not indexes:
            scored.logp.sum().backward()  # type: ignore[no-untyped-call]
            continue
        tokens = batch.tokens([chosen[i] for i in indexes], scored.logp)
        loss = objective.loss(tokens, totals)
        loss.value.backward()  # type: ignore[no-untyped-call]
        sums.add(scored.logp, tokens.behaviour, scored.entropy, loss.clipped, float(loss.value.detach()))
    session.finish()
    return sums
