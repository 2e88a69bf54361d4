"""How a training process uses its cores."""

import torch


def settle(threads: int) -> None:
    """Use `threads` cores and flush denormals to zero; call before the first tensor operation.

    Sharp attention makes denormal probabilities, on which a CPU's matrix products are about ten times slower. Worker
    threads inherit the mode from the thread that starts them.
    """
    torch.set_flush_denormal(True)
    torch.set_num_threads(threads)
