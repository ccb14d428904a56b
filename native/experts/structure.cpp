// What experts consist of: their tree, who comes and who goes, copies and state.
#include <algorithm>
#include <mutex>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include "experts/experts.hpp"

namespace onkel {
namespace {

constexpr double share = 1e-4;      // of a leaf's weights, divided evenly after each row
constexpr std::int64_t known = 64;  // rows that a region's noise counts for where it comes from its parent

}  // namespace

Experts::Experts(std::vector<std::unique_ptr<Learner>> learners, std::int64_t t)
    : loss_(learners.at(0)->config().recipe.part("loss"), learners[0]->config().task), tree_(t), t_(t) {
  for (std::unique_ptr<Learner>& learner : learners) experts_.push_back({next_++, 0, Shared(std::move(learner))});
  std::size_t outputs = 0;
  for (const Expert& expert : experts_) outputs = std::max(outputs, expert.learner->outputs());
  for (Expert& expert : experts_) {
    expert.learner = Shared(fitting(*expert.learner));
    expert.learner.own().widen(outputs);
    if (expert.learner->next_position() > t)
      throw std::invalid_argument("experts cannot have seen rows that come after those of the stream so far");
  }
  leaves_[0].sum = SumWeights(experts_.size(), share, loss_.narrow());
  link();
}

Experts::Experts(const Experts& other)
    : loss_(other.loss_),
      tree_(other.tree_),
      experts_(other.experts_),
      next_(other.next_),
      leaves_(other.leaves_),
      t_(other.t_) {
  link();
}

std::unique_ptr<Experts> Experts::clone() const {
  const std::lock_guard turn(state_lock_);
  return std::unique_ptr<Experts>(new Experts(*this));
}

// A copy of a learner that can be an expert beside the first.
std::unique_ptr<Learner> Experts::fitting(const Learner& expert) const {
  const Config& own = experts_[0].learner->config();
  const Config& other = expert.config();
  if (other.hedge) throw std::invalid_argument("an expert is a learner with one function");
  if (other.task != own.task || other.type != own.type || other.sparse != own.sparse || other.width != own.width)
    throw std::invalid_argument("experts of one learner must have the same task, and take the same rows");
  return expert.clone();
}

// What follows from the tree and from whose region is which.
void Experts::link() {
  std::vector<std::size_t> depth(tree_.size());
  for (std::size_t place = 1; place < tree_.size(); ++place) depth[place] = depth[tree_[place].parent] + 1;
  std::vector<std::size_t> places;
  for (const Expert& expert : experts_) places.push_back(tree_.place_of(expert.region));
  order_.resize(experts_.size());
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  std::stable_sort(order_.begin(), order_.end(),
                   [&](std::size_t a, std::size_t b) { return depth[places[a]] < depth[places[b]]; });
  by_place_.assign(tree_.size(), nullptr);
  for (std::size_t place = 0; place < tree_.size(); ++place) {
    if (!tree_[place].is_leaf()) continue;
    std::set<std::size_t> above;
    for (std::size_t p = place; p != Tree::none; p = tree_[p].parent) above.insert(p);
    Leaf& leaf = leaves_.at(tree_[place].number);
    leaf.path.clear();
    for (const std::size_t e : order_)
      if (above.contains(places[e])) leaf.path.push_back(e);
    by_place_[place] = &leaf;
  }
}

std::size_t Experts::expert_at(std::int64_t number) const {
  for (std::size_t e = 0; e < experts_.size(); ++e)
    if (experts_[e].number == number) return e;
  throw std::invalid_argument("there is no expert " + std::to_string(number));
}

std::size_t Experts::leaf_numbered(std::int64_t region) const {
  const std::size_t place = tree_.place_of(region);
  if (!tree_[place].is_leaf()) throw std::invalid_argument("region " + std::to_string(region) + " is divided");
  return place;
}

std::map<std::int64_t, double> Experts::weights_of(const Leaf& leaf) const {
  std::map<std::int64_t, double> weights;
  for (std::size_t i = 0; i < leaf.path.size(); ++i) weights[experts_[leaf.path[i]].number] = leaf.sum.weights[i];
  return weights;
}

// Gives the experts of a leaf's path these weights, by their numbers; they need not sum to 1.
void Experts::reweigh(Leaf& leaf, const std::map<std::int64_t, double>& weights) {
  std::vector<double> values;
  for (const std::size_t e : leaf.path) values.push_back(weights.at(experts_[e].number));
  if (!std::ranges::all_of(values, [](double w) { return w >= 0 && w <= 1; }) ||
      std::ranges::none_of(values, [](double w) { return w > 0; }))
    throw std::invalid_argument("the weights of experts must be between 0 and 1, and not all 0");
  leaf.sum.weights = Weights(values.size(), share);
  leaf.sum.weights.set(values);
  leaf.rows = 0;
}

std::unique_ptr<Experts> Experts::divided(std::int64_t region, const Condition& condition, const Side& lower,
                                          const Side& upper) const {
  const std::lock_guard turn(state_lock_);
  std::unique_ptr<Experts> result(new Experts(*this));
  Experts& after = *result;
  const std::size_t place = leaf_numbered(region);
  tree_.check(condition, config().width);
  const Leaf parent = leaf_at(place);
  after.tree_.divide(place, condition, t_);
  after.leaves_.erase(region);
  const std::size_t sides[] = {after.tree_[place].lower, after.tree_[place].upper};
  for (const std::size_t side : sides) {
    Leaf& leaf = after.leaves_[after.tree_[side].number];
    leaf.sum = parent.sum;  // whose residuals are the best that is known of it; its weights follow
    leaf.sum.set_noise(parent.sum.noise(), std::min(parent.sum.moves(), known));
    for (const Learner* expert : (side == sides[0] ? lower : upper).experts) {
      auto own = fitting(*expert);
      own->widen(width());
      if (own->next_position() > t_ || own->outputs() > width())
        throw std::invalid_argument("an expert cannot have seen rows that come after those of the stream so far");
      after.experts_.push_back({after.next_++, after.tree_[side].number, Shared(std::move(own))});
    }
  }
  after.link();
  for (const std::size_t side : sides) {
    Leaf& leaf = *after.by_place_[side];
    const Side& given = side == sides[0] ? lower : upper;
    if (given.weights.size() != leaf.path.size())
      throw std::invalid_argument("there must be one weight for each expert of the path");
    std::map<std::int64_t, double> weights;
    for (std::size_t i = 0; i < leaf.path.size(); ++i) weights[after.experts_[leaf.path[i]].number] = given.weights[i];
    after.reweigh(leaf, weights);
  }
  return result;
}

std::unique_ptr<Experts> Experts::with_expert(std::int64_t region, const Learner& expert, double weight) const {
  const std::lock_guard turn(state_lock_);
  if (!(weight >= 0 && weight <= 1)) throw std::invalid_argument("the weight of an expert must be between 0 and 1");
  std::unique_ptr<Experts> result(new Experts(*this));
  Experts& after = *result;
  const std::size_t place = tree_.place_of(region);
  auto own = fitting(expert);
  own->widen(width());
  if (own->next_position() > t_ || own->outputs() > width())
    throw std::invalid_argument("an expert cannot have seen rows that come after those of the stream so far");
  after.experts_.push_back({after.next_++, region, Shared(std::move(own))});
  after.link();
  for (std::size_t p = place; p < tree_.end_of(place); ++p) {
    if (!tree_[p].is_leaf()) continue;
    std::map<std::int64_t, double> weights = weights_of(leaf_at(p));
    for (auto& [number, w] : weights) w *= 1 - weight;
    weights[after.experts_.back().number] = weight;
    after.reweigh(*after.by_place_[p], weights);
  }
  return result;
}

std::unique_ptr<Experts> Experts::without_expert(std::int64_t expert) const {
  const std::lock_guard turn(state_lock_);
  std::unique_ptr<Experts> result(new Experts(*this));
  Experts& after = *result;
  const std::size_t e = expert_at(expert), place = tree_.place_of(experts_[e].region);
  after.experts_.erase(after.experts_.begin() + static_cast<std::ptrdiff_t>(e));
  after.link();
  for (std::size_t p = place; p < tree_.end_of(place); ++p) {
    if (!tree_[p].is_leaf()) continue;
    if (after.by_place_[p]->path.empty()) throw std::invalid_argument("a region cannot lose its last expert");
    std::map<std::int64_t, double> weights = weights_of(leaf_at(p));
    weights.erase(expert);
    double left = 0.0;
    for (const auto& [number, w] : weights) left += w;
    if (!(left > 0))
      for (auto& [number, w] : weights) w = 1.0;
    after.reweigh(*after.by_place_[p], weights);
  }
  return result;
}

std::unique_ptr<Experts> Experts::with_experts(std::span<const Learner* const> experts,
                                               std::span<const std::int64_t> rows) const {
  const std::lock_guard turn(state_lock_);
  if (experts.size() != experts_.size())
    throw std::invalid_argument("there must be one learner in the place of each expert");
  std::unique_ptr<Experts> result(new Experts(*this));
  if (!rows.empty()) {
    result->tree_.recount(rows);
    result->t_ = result->tree_[0].rows;
    for (auto& [region, leaf] : result->leaves_) leaf.sum.set_noise(0.0, 0);  // that of the new ones, until it is known
  }
  for (std::size_t e = 0; e < experts.size(); ++e) {
    result->experts_[e].learner = Shared(fitting(*experts[e]));
    result->experts_[e].learner.own().widen(width());
    if (result->experts_[e].learner->next_position() > result->t_ || result->width() != width())
      throw std::invalid_argument("an expert cannot have seen rows that come after those of the stream so far");
  }
  return result;
}

std::unique_ptr<Experts> Experts::merged_back(std::int64_t region) const {
  const std::lock_guard turn(state_lock_);
  std::unique_ptr<Experts> result(new Experts(*this));
  Experts& after = *result;
  const std::size_t place = tree_.place_of(region), end = tree_.end_of(place);
  if (tree_[place].is_leaf()) throw std::invalid_argument("region " + std::to_string(region) + " is a leaf");
  std::set<std::int64_t> below;
  std::map<std::int64_t, double> weights;
  Leaf merged;
  double noise = 0.0, rows = 0.0;
  std::int64_t moves = 0;
  for (std::size_t p = place + 1; p < end; ++p) {
    below.insert(tree_[p].number);
    if (!tree_[p].is_leaf()) continue;
    const Leaf& leaf = leaf_at(p);
    const auto n = static_cast<double>(tree_[p].rows + 1);
    rows += n;
    for (const auto& [number, w] : weights_of(leaf)) weights[number] += n * w;
    noise += leaf.sum.noise() * static_cast<double>(leaf.sum.moves());
    moves += leaf.sum.moves();
    merged.sum = leaf.sum;  // the residuals of one of them, until those of all have followed
    merged.losses += leaf.losses;
    merged.judged += leaf.judged;
    after.leaves_.erase(tree_[p].number);
  }
  for (auto& [number, w] : weights) w = std::min(1.0, w / rows);
  merged.sum.set_noise(moves > 0 ? noise / static_cast<double>(moves) : 0.0, moves);
  std::erase_if(after.experts_, [&](const Expert& expert) { return below.contains(expert.region); });
  after.tree_.make_leaf(place);
  after.leaves_[region] = std::move(merged);
  after.link();
  Leaf& leaf = *after.by_place_[place];
  if (leaf.path.empty()) throw std::invalid_argument("a region cannot lose its last expert");
  if (std::ranges::none_of(leaf.path, [&](std::size_t e) { return weights[after.experts_[e].number] > 0; }))
    for (auto& [number, w] : weights) w = 1.0;
  after.reweigh(leaf, weights);
  return result;
}

std::unique_ptr<Experts> Experts::with_weights(std::int64_t region, std::span<const double> given) const {
  const std::lock_guard turn(state_lock_);
  std::unique_ptr<Experts> result(new Experts(*this));
  Experts& after = *result;
  Leaf& leaf = *after.by_place_[leaf_numbered(region)];
  if (given.size() != leaf.path.size())
    throw std::invalid_argument("there must be one weight for each expert of the path");
  std::map<std::int64_t, double> weights;
  for (std::size_t i = 0; i < given.size(); ++i) weights[experts_[leaf.path[i]].number] = given[i];
  after.reweigh(leaf, weights);
  return result;
}

std::vector<Experts::Seen> Experts::regions() const {
  const std::lock_guard turn(state_lock_);
  std::vector<Seen> seen;
  for (std::size_t place = 0; place < tree_.size(); ++place) {
    Seen own{tree_[place], tree_[place].parent == Tree::none ? -1 : tree_[tree_[place].parent].number, {}, {}, {}};
    for (const Expert& expert : experts_)
      if (expert.region == own.region.number) own.experts.push_back(expert.number);
    if (tree_[place].is_leaf()) {
      const Leaf& leaf = leaf_at(place);
      for (const std::size_t e : leaf.path) own.path.push_back(experts_[e].number);
      own.weights = leaf.sum.weights.values();
      own.loss = leaf.judged > 0 ? leaf.losses / static_cast<double>(leaf.judged) : 0.0;
      own.noise = leaf.sum.noise();
    }
    seen.push_back(std::move(own));
  }
  return seen;
}

std::vector<std::int64_t> Experts::numbers() const {
  const std::lock_guard turn(state_lock_);
  std::vector<std::int64_t> numbers;
  for (const Expert& expert : experts_) numbers.push_back(expert.number);
  return numbers;
}

std::vector<std::int64_t> Experts::leaves_of(const Rows& rows) const {
  const std::lock_guard turn(state_lock_);
  std::vector<std::int64_t> leaves(rows.count);
  for (std::size_t row = 0; row < rows.count; ++row) leaves[row] = tree_[tree_.leaf_of(rows, type(), row)].number;
  return leaves;
}

std::unique_ptr<Learner> Experts::expert(std::int64_t number) const {
  const std::lock_guard turn(state_lock_);
  return experts_[expert_at(number)].learner->clone();
}

std::pair<std::vector<std::int64_t>, std::vector<double>> Experts::weight_history(std::int64_t region) const {
  const std::lock_guard turn(state_lock_);
  return leaf_at(leaf_numbered(region)).sum.weights.history();
}

void Experts::widen(std::size_t outputs) {
  const std::lock_guard call(call_lock_);
  const std::lock_guard turn(state_lock_);
  for (Expert& expert : experts_) expert.learner.own().widen(outputs);
}

void Experts::reach(std::size_t features) {
  const std::lock_guard call(call_lock_);
  const std::lock_guard turn(state_lock_);
  for (Expert& expert : experts_) expert.learner.own().reach(features);
}

void Experts::flush() {
  const std::lock_guard call(call_lock_);
  const std::lock_guard turn(state_lock_);
  for (Expert& expert : experts_) expert.learner.own().flush();
}

std::int64_t Experts::t() const {
  const std::lock_guard turn(state_lock_);
  return t_;
}

std::size_t Experts::outputs() const {
  const std::lock_guard turn(state_lock_);
  return width();
}

std::size_t Experts::size() const {
  const std::lock_guard turn(state_lock_);
  std::vector<std::int64_t> births;
  for (const Expert& expert : experts_) {
    const std::vector<std::int64_t> own = expert.learner->births();
    births.insert(births.end(), own.begin(), own.end());
  }
  std::ranges::sort(births);
  return births.size() - std::ranges::unique(births).size();
}

std::size_t Experts::bytes() const {
  const std::lock_guard turn(state_lock_);
  ByteCounter counter;
  const_cast<Experts*>(this)->visit(counter);
  return counter.bytes;
}

Model::Points Experts::points() const {
  const std::lock_guard turn(state_lock_);
  struct Place {
    std::size_t expert, row;
  };
  std::vector<Points> own;
  std::map<std::int64_t, Place> first;
  std::map<std::int64_t, std::int64_t> ghosts;  // what nobody's last function has
  for (std::size_t e = 0; e < experts_.size(); ++e) {
    own.push_back(experts_[e].learner->points());
    for (std::size_t i = 0; i < own[e].births.size(); ++i) {
      first.try_emplace(own[e].births[i], Place{e, i});
      const auto found = ghosts.try_emplace(own[e].births[i], 1).first;
      found->second &= own[e].ghosts[i];
    }
  }
  Points all{{.count = first.size(), .width = config().width, .values = {}, .offsets = {}, .indices = {}}, {}, {}};
  const std::size_t bytes = size_of(type());
  if (config().sparse) all.rows.offsets.push_back(0);
  for (const auto& [birth, place] : first) {
    const PointRows& rows = own[place.expert].rows;
    std::size_t begin = place.row * rows.width, end = begin + rows.width;
    if (config().sparse) {
      begin = static_cast<std::size_t>(rows.offsets[place.row]);
      end = static_cast<std::size_t>(rows.offsets[place.row + 1]);
      all.rows.indices.insert(all.rows.indices.end(), rows.indices.begin() + static_cast<std::ptrdiff_t>(begin),
                              rows.indices.begin() + static_cast<std::ptrdiff_t>(end));
      all.rows.offsets.push_back(static_cast<std::int64_t>(all.rows.indices.size()));
    }
    all.rows.values.insert(all.rows.values.end(), rows.values.begin() + static_cast<std::ptrdiff_t>(begin * bytes),
                           rows.values.begin() + static_cast<std::ptrdiff_t>(end * bytes));
    all.births.push_back(birth);
    all.ghosts.push_back(ghosts[birth]);
  }
  return all;
}

std::vector<Model::Learned> Experts::learned(bool informed) const {
  const std::lock_guard turn(state_lock_);
  std::vector<Learned> learned;
  for (const Expert& expert : experts_) learned.push_back(std::move(expert.learner->learned(informed)[0]));
  return learned;
}

void Experts::show(const Display::Viewer& viewer) const {
  const std::lock_guard turn(state_lock_);
  Display display(viewer);
  const_cast<Experts*>(this)->visit(display);
}

State Experts::save() const {
  const std::lock_guard turn(state_lock_);
  Saver saver;
  const_cast<Experts*>(this)->visit(saver);
  return std::move(saver.state);
}

void Experts::load(const State& state) {
  const std::lock_guard call(call_lock_);
  std::vector<std::unique_ptr<Learner>> blank;
  for (const Expert& expert : experts_) blank.push_back(expert.learner->blank());
  Experts fresh(std::move(blank), 0);
  Loader loader(state);
  fresh.visit(loader);
  loader.finish();
  fresh.check_rows();
  const std::lock_guard turn(state_lock_);
  adopt(std::move(fresh));
}

void Experts::adopt(Experts&& fresh) {
  tree_ = std::move(fresh.tree_);
  experts_ = std::move(fresh.experts_);
  next_ = fresh.next_;
  leaves_ = std::move(fresh.leaves_);
  t_ = fresh.t_;
  link();
}

void Experts::Leaf::visit(Archive& archive) {
  archive.part("sum", sum);
  archive.scalar("rows", rows);
  archive.scalar("losses", losses);
  archive.scalar("judged", judged);
  archive.require(rows >= 0 && judged >= 0, "rows", "must not be negative");
}

void Experts::visit(Archive& archive) {
  archive.scalar("t", t_);
  archive.scalar("next", next_);
  archive.part("tree", tree_);
  std::vector<std::int64_t> numbers, regions;
  for (const Expert& expert : experts_) {
    numbers.push_back(expert.number);
    regions.push_back(expert.region);
  }
  archive.array("experts", numbers);
  archive.array("regions", regions);
  if (archive.loading()) {
    archive.require(numbers.size() == experts_.size() && regions.size() == experts_.size(), "experts",
                    "must be as many as there are learners");
    std::set<std::int64_t> distinct;
    for (std::size_t e = 0; e < experts_.size(); ++e) {
      archive.require(numbers[e] >= 0 && numbers[e] < next_ && distinct.insert(numbers[e]).second, "experts",
                      "must have different numbers");
      experts_[e].number = numbers[e];
      experts_[e].region = regions[e];
    }
    leaves_.clear();
    for (std::size_t place = 0; place < tree_.size(); ++place)
      if (tree_[place].is_leaf()) leaves_[tree_[place].number];
    link();
    for (auto& [region, leaf] : leaves_) {
      archive.require(!leaf.path.empty(), "regions", "must leave no region without an expert");
      leaf.sum = SumWeights(leaf.path.size(), share, loss_.narrow());
    }
  }
  for (auto& [region, leaf] : leaves_) archive.part("leaf" + std::to_string(region), leaf);
  for (Expert& expert : experts_)
    archive.part("expert" + std::to_string(expert.number), const_cast<Learner&>(*expert.learner));
}

void Experts::check_rows() const {
  constexpr std::int64_t most = std::int64_t{1} << 62;
  if (t_ < 0 || t_ > most) throw std::invalid_argument("state 't' must be between 0 and 2^62");
  if (next_ > most) throw std::invalid_argument("state 'next' must be at most 2^62");
  tree_.check_rows(t_, config().width);
  for (const auto& [region, leaf] : leaves_) {
    leaf.sum.weights.check_rows(leaf.rows);
    const std::int64_t rows = tree_[tree_.place_of(region)].rows;
    if (leaf.rows > rows || leaf.judged > t_ || leaf.sum.moves() > t_)
      throw std::invalid_argument("state of a leaf must be that of its rows");
  }
  for (const Expert& expert : experts_) {
    expert.learner->check_rows();
    if (expert.learner->outputs() != width())
      throw std::invalid_argument("experts must have the same number of outputs");
    if (expert.learner->next_position() > t_)
      throw std::invalid_argument("experts cannot have seen rows that come after those of the stream so far");
  }
}

}  // namespace onkel
