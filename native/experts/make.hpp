// What a configuration makes: points, and the learner or the learners over them.
#pragma once

#include "loop/learner.hpp"

namespace onkel {

Learner::Made make(const Config& config);

}  // namespace onkel
