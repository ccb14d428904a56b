#include "experts/make.hpp"

#include <stdexcept>
#include <type_traits>

#include "experts/hedge.hpp"
#include "first_order/first_order.hpp"
#include "second_order/linear_newton.hpp"
#include "second_order/second_order.hpp"

namespace onkel {
namespace {

constexpr std::size_t max_frequencies = std::size_t{1} << 28;

// The random features that the eviction asks for.
Fourier fourier_of(const Config& config) {
  const std::size_t count = features_asked(config.recipe);
  return count == 0 ? Fourier()
                    : Fourier(count, config.kernels.at(0).terms.at(0).factors.at(0).gamma, Draws{config.seed});
}

// Whether the function is kept as one weight for each feature: under the plain linear kernel, where nothing is asked of
// points. First-order learners have no eviction, no bound and no mini-batch that waits; second-order learners have more
// features than there could be points that span them.
bool has_weights(const Config& config) {
  constexpr std::size_t unbounded = std::size_t{1} << 60;
  if (config.weights) return *config.weights;
  if (config.hedge || config.kernels.at(0).function || config.width > Basis::most_weights) return false;
  const KernelConfig& kernel = config.kernels[0];
  if (!is_plain(kernel.terms) || !(kernel.metric == Metric{})) return false;
  const Kernel& plain = kernel.terms[0].factors[0];
  if (plain.base != Base::dot || plain.shape != Shape::identity) return false;
  if (config.recipe.name == "SecondOrder") return config.width > LinearNewton::full_columns;
  return config.recipe.part("eviction").name == "Stop" && config.recipe.at("batch_size") == 1 &&
         config.budget >= unbounded;
}

template <class T>
std::unique_ptr<Basis> make_basis(const Config& config) {
  if (has_weights(config)) return make_linear_basis<T>(config.constant, config.width, config.sparse);
  std::vector<Plane> planes;
  bool constant = config.constant;
  Fourier fourier;
  if (config.hedge) {
    planes = shared_planes(config.kernels);
    constant = false;  // each kernel has its own constant
  } else {
    const KernelConfig& kernel = config.kernels.at(0);
    if (kernel.function) return make_callable_basis<T>(kernel.function, constant, config.width);
    planes = {{kernel.terms, kernel.metric}};
    // The random features take memory from the first row on, whatever the data: a file must not be able to demand it
    // with two numbers.
    if (features_asked(config.recipe) > max_frequencies / config.width)
      throw std::invalid_argument("random features times features must be at most 2^28");
    fourier = fourier_of(config);
  }
  return config.sparse ? make_sparse_basis<T>(planes, constant, fourier, config.width)
                       : make_dense_basis<T>(planes, constant, fourier, config.width);
}

std::unique_ptr<Update> make_one(const Config& config, std::uint32_t number, Basis& basis) {
  const auto make = [&]<class Made>(std::type_identity<Made>) {
    return std::make_unique<Made>(config.recipe, config.task, config.outputs, config.average, config.budget,
                                  Draws{config.seed, number}, basis);
  };
  if (config.recipe.name == "FirstOrder") return make(std::type_identity<FirstOrder>());
  if (config.recipe.name == "SecondOrder" && basis.n_weights() > 0) return make(std::type_identity<LinearNewton>());
  if (config.recipe.name == "SecondOrder") return make(std::type_identity<SecondOrder>());
  unknown_part("recipe", config.recipe);
}

template <class T>
std::unique_ptr<Update> make_hedge(const Config& config, Basis& basis) {
  if (features_asked(config.recipe) > 0)
    throw std::invalid_argument("random features belong to one kernel: several cannot share a learner with them");
  auto pool = std::make_unique<Pool>(basis);
  const std::vector<Plane> planes = shared_planes(config.kernels);
  std::vector<Hedge::Member> members;
  for (const KernelConfig& kernel : config.kernels) {
    auto view = make_view<T>(kernel, planes, config.constant, config.width, *pool);
    auto learner = make_one(config, kernel.number, *view);
    members.push_back({std::move(view), std::move(learner), kernel.number});
  }
  return std::make_unique<Hedge>(*config.hedge, Loss(config.recipe.part("loss"), config.task), config.task,
                                 std::move(pool), std::move(members), config.budget, Draws{config.seed});
}

std::unique_ptr<Update> make_update(const Config& config, Basis& basis) {
  if (!config.hedge) return make_one(config, 0, basis);
  return config.type == Type::f32 ? make_hedge<float>(config, basis) : make_hedge<double>(config, basis);
}

}  // namespace

Learner::Made make(const Config& config) {
  auto basis = config.type == Type::f32 ? make_basis<float>(config) : make_basis<double>(config);
  auto update = make_update(config, *basis);
  return {std::move(basis), std::move(update)};
}

}  // namespace onkel
