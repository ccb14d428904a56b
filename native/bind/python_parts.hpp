// Parts that are written in Python (onkel.parts.python), as a learner uses them. The interpreter's lock is acquired
// here, for the duration of a call, and nowhere in the core.
#pragma once

#include <nanobind/nanobind.h>

#include <any>
#include <memory>

namespace onkel {

// A Python object that may be dropped by a thread without the interpreter's lock.
using SharedObject = std::shared_ptr<nanobind::object>;
SharedObject keep(nanobind::object object);

// The `maker` of a part's Spec, according to the part's attribute `kind`.
std::any maker_of(const nanobind::object& part);

// Binds the objects that are passed to the methods of such parts: a row, and the support vectors.
void bind_views(nanobind::module_& module);

}  // namespace onkel
