// Chooses the instruction set once, at the first call of level(). Compiled for the baseline; ONKEL_HAS_V3, ONKEL_HAS_V4
// and ONKEL_HAS_NEON say for which others routines.cpp was compiled as well.

#include <cstdlib>
#include <stdexcept>
#include <string>

#include "isa/isa.hpp"

#if defined(_WIN32)
#include <windows.h>
#endif

namespace onkel::isa {

#if defined(ONKEL_HAS_NEON)
extern const Level level_neon;
#else
extern const Level level_baseline;
#endif
#if defined(ONKEL_HAS_V3)
extern const Level level_v3;
#endif
#if defined(ONKEL_HAS_V4)
extern const Level level_v4;
#endif

namespace {

struct Candidate {
  const char* short_name;
  const char* full_name;
  const Level* level;  // null where this build does not have it
  bool on_this_processor;
};

struct Candidates {
  Candidate baseline = {"baseline", "baseline", nullptr, false};
  Candidate v3 = {"v3", "x86-64-v3", nullptr, false};
  Candidate v4 = {"v4", "x86-64-v4", nullptr, false};
  Candidate neon = {"neon", "neon", nullptr, false};
};

Candidates find_candidates() {
  Candidates found;
#if defined(ONKEL_HAS_NEON)
  found.neon.level = &level_neon;
  found.neon.on_this_processor = true;  // part of every aarch64
#else
  found.baseline.level = &level_baseline;
  found.baseline.on_this_processor = true;
#endif
#if defined(ONKEL_HAS_V3)
  found.v3.level = &level_v3;
#if defined(_WIN32)  // where the builtin needs a library that is not linked
  found.v3.on_this_processor = IsProcessorFeaturePresent(PF_AVX2_INSTRUCTIONS_AVAILABLE) != 0;
#else
  // The levels are detected by their main features: clang knows the names of the levels only since version 18.
  found.v3.on_this_processor =
      __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma");
#endif
#endif
#if defined(ONKEL_HAS_V4)
  found.v4.level = &level_v4;
  found.v4.on_this_processor = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") &&
                               __builtin_cpu_supports("fma") && __builtin_cpu_supports("avx512f") &&
                               __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
                               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
#endif
  return found;
}

const Level& asked_for(const std::string& name) {
  const Candidates found = find_candidates();
  for (const Candidate* candidate : {&found.baseline, &found.v3, &found.v4, &found.neon}) {
    if (name != candidate->short_name && name != candidate->full_name) continue;
    if (candidate->level == nullptr) {
      throw std::runtime_error("ONKEL_ISA=" + name + " asks for an instruction set that this build of onkel lacks.");
    }
    if (!candidate->on_this_processor) {
      throw std::runtime_error("ONKEL_ISA=" + name + " asks for an instruction set that this processor lacks.");
    }
    return *candidate->level;
  }
  throw std::runtime_error("ONKEL_ISA=" + name + " is unknown: expected baseline, v3, v4 or neon.");
}

// The first processors with 512-bit vectors slow their clock down for them. All that came later (Ice Lake, Zen 4) have
// VBMI2, none of the first does; VNNI would not tell them apart, since Cascade Lake has it. The choice rests on a
// feature bit and not on a timing, so that every process on a machine chooses the same level.
bool v4_keeps_the_clock() {
#if defined(ONKEL_HAS_V4)
  return __builtin_cpu_supports("avx512vbmi2");
#else
  return false;
#endif
}

const Level& best() {
  const Candidates found = find_candidates();
  if (found.neon.on_this_processor) return *found.neon.level;
  if (found.v4.on_this_processor && v4_keeps_the_clock()) return *found.v4.level;
  if (found.v3.on_this_processor) return *found.v3.level;
  return *found.baseline.level;
}

const Level& choose() {
  const char* name = std::getenv("ONKEL_ISA");
  return name == nullptr || *name == '\0' ? best() : asked_for(name);
}

}  // namespace

const Level& level() {
  static const Level& chosen = choose();
  return chosen;
}

}  // namespace onkel::isa
