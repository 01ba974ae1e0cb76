"""Writes adapters of PEFT for parameters of three dimensions, and the outputs of the adapted models: peft/experts.safetensors.

    python make_peft_experts.py      (made with torch 2.15.0, peft 0.21.0; in the folder of this file)

For each layout the file has the input `x` of [tokens, in], the weight, `lora_A` of [rank * experts, in], `lora_B` of
[out, rank * experts], the weight with the adapters merged into it, and the output of the adapted model, [experts, tokens, out].
"""
import peft, torch
from safetensors.torch import save_file


class Experts(torch.nn.Module):
    def __init__(self, shape, equation, is_transposed):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(shape))
        self.equation = equation
        # PEFT takes [experts, out, in] unless the module has this attribute.
        self.is_transposed = is_transposed

    def forward(self, x):
        return torch.einsum(self.equation, x, self.weight)


class Model(torch.nn.Module):
    def __init__(self, *args):
        super().__init__()
        self.experts = Experts(*args)

    def forward(self, x):
        return self.experts(x)


CASES = {"in_out": ((3, 4, 5), "td,edf->etf", True), "out_in": ((3, 5, 4), "td,efd->etf", False)}

if __name__ == "__main__":
    torch.manual_seed(0)
    values = {}
    for name, args in CASES.items():
        with torch.no_grad():
            model = Model(*args)
            x, weight = torch.randn(6, 4), model.experts.weight.clone()
            config = peft.LoraConfig(r=2, lora_alpha=3, target_modules=[], target_parameters=["experts.weight"])
            adapted = peft.get_peft_model(model, config)
            for key, parameter in adapted.named_parameters():
                if "lora_" in key:
                    parameter.copy_(torch.randn_like(parameter))
            factors = {key: p.clone() for key, p in adapted.named_parameters() if "lora_" in key}
            a, b = [next(p for key, p in factors.items() if which in key) for which in ["lora_A", "lora_B"]]
            values |= {f"{name}.x": x, f"{name}.weight": weight, f"{name}.a": a, f"{name}.b": b, f"{name}.y": adapted(x).clone()}
            values[f"{name}.merged"] = adapted.merge_and_unload().experts.weight.clone()
    save_file({key: value.contiguous() for key, value in values.items()}, "peft/experts.safetensors")
    print({key: tuple(value.shape) for key, value in values.items()})
