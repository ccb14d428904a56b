"""Fitted models for other programs: ONNX, LIBSVM, C and JSON (docs/deploy.md)."""

from onkel.models.export.c import to_c
from onkel.models.export.json import to_json
from onkel.models.export.libsvm import to_libsvm, to_libsvm_range
from onkel.models.export.onnx import register_with_skl2onnx, to_onnx

__all__ = ["register_with_skl2onnx", "to_c", "to_json", "to_libsvm", "to_libsvm_range", "to_onnx"]
