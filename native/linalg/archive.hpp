// Archive: each stateful part names its scalars and arrays once, in `visit`; saving, loading and counting bytes (and in
// Python pickling, hashing and comparing) are all based on that one list.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace onkel {

enum class Type { f32, f64, i64 };

template <class T>
constexpr Type type_of() {
  if constexpr (std::is_same_v<T, float>) return Type::f32;
  if constexpr (std::is_same_v<T, double>) return Type::f64;
  if constexpr (std::is_same_v<T, std::int64_t>) return Type::i64;
}

// A saved array: rows x columns of one type, in C order.
struct Array {
  Type type = Type::f64;
  std::size_t rows = 0, columns = 1;
  std::vector<std::byte> bytes;
};

using State = std::map<std::string, Array>;

class Archive {
 public:
  virtual ~Archive() = default;

  template <class T>
  void scalar(const std::string& name, T& value) {
    std::vector<T> one{value};
    matrix(name, one, 1);
    require(one.size() == 1, name, "must hold one number");
    value = one[0];
  }
  template <class T>
  void array(const std::string& name, std::vector<T>& values) {
    matrix(name, values, 1);
  }
  // Rows of `columns` values each; on loading, the number of rows is that in the file.
  template <class T>
  void matrix(const std::string& name, std::vector<T>& values, std::size_t columns) {
    Array seen{type_of<T>(), columns == 0 ? 0 : values.size() / columns, columns, {}};
    const std::byte* stored = exchange(prefix_ + name, seen, reinterpret_cast<const std::byte*>(values.data()));
    if (!loading()) return;
    const T* first = reinterpret_cast<const T*>(stored);
    values.assign(first, first + seen.rows * seen.columns);
    if constexpr (std::is_floating_point_v<T>)
      require(std::all_of(values.begin(), values.end(), [](T v) { return std::isfinite(v); }), name,
              "holds a number that is not finite");
  }
  // Saved only where it is not 0, and taken to be 0 where it was not saved.
  template <class T>
  void scalar_if_any(const std::string& name, T& value) {
    if (loading() ? holds(prefix_ + name) : value != T{}) scalar(name, value);
  }
  // A part inside a part: its names are prefixed.
  template <class Part>
  void part(const std::string& name, Part& inner) {
    const std::string outer = prefix_;
    prefix_ += name + ".";
    inner.visit(*this);
    prefix_ = outer;
  }

  virtual bool loading() const { return false; }
  // A part is about to take memory that the size of its saved arrays does not account for.
  virtual void claim(const std::string& /*name*/, std::size_t /*bytes*/) {}
  // Rejects a state unless the condition holds, naming the array of this part and what is wrong with it.
  void require(bool holds, const std::string& name, const char* otherwise) const {
    if (!holds) throw std::invalid_argument("state '" + prefix_ + name + "' " + otherwise);
  }

 protected:
  // Saving: takes `array` with the bytes at `values`; the result is not used. Loading: checks type and columns, sets
  // the rows and returns the stored bytes.
  virtual const std::byte* exchange(const std::string& name, Array& array, const std::byte* values) = 0;
  // Loading: whether there is such an array.
  virtual bool holds(const std::string& /*name*/) const { return false; }

 private:
  std::string prefix_;
};

inline std::size_t size_of(Type type) { return type == Type::f32 ? 4 : 8; }

class Saver : public Archive {
 public:
  State state;

 private:
  const std::byte* exchange(const std::string& name, Array& array, const std::byte* values) override {
    array.bytes.assign(values, values + array.rows * array.columns * size_of(array.type));
    state[name] = array;
    return nullptr;
  }
};

class Loader : public Archive {
 public:
  explicit Loader(const State& state) : state_(state) {}
  bool loading() const override { return true; }
  void claim(const std::string& name, std::size_t bytes) override {
    claimed_ = bytes > max_claimed - claimed_ ? max_claimed + 1 : claimed_ + bytes;
    require(claimed_ <= max_claimed, name, "asks for much more memory than the state holds");
  }
  // Every array of the file must have been asked for.
  void finish() const {
    if (asked_ != state_.size()) throw std::invalid_argument("state holds arrays that this learner does not have");
  }

 private:
  const std::byte* exchange(const std::string& name, Array& array, const std::byte*) override {
    const auto found = state_.find(name);
    if (found == state_.end()) throw std::invalid_argument("state lacks '" + name + "'");
    if (found->second.type != array.type || found->second.columns != array.columns)
      throw std::invalid_argument("state '" + name + "' has the wrong type or width");
    array.rows = found->second.rows;
    ++asked_;
    return found->second.bytes.data();
  }
  bool holds(const std::string& name) const override { return state_.count(name) != 0; }
  static constexpr std::size_t max_claimed = std::size_t{1} << 26;
  const State& state_;
  std::size_t asked_ = 0, claimed_ = 0;
};

// Shows each array as saving would take it, and copies none: its name, its type and shape, and its bytes.
class Display : public Archive {
 public:
  using Viewer = std::function<void(const std::string& name, const Array& shape, std::span<const std::byte> bytes)>;
  explicit Display(const Viewer& viewer) : viewer_(viewer) {}

 private:
  const std::byte* exchange(const std::string& name, Array& array, const std::byte* values) override {
    viewer_(name, array, {values, array.rows * array.columns * size_of(array.type)});
    return nullptr;
  }
  const Viewer& viewer_;
};

class ByteCounter : public Archive {
 public:
  std::size_t bytes = 0;

 private:
  const std::byte* exchange(const std::string&, Array& array, const std::byte*) override {
    bytes += array.rows * array.columns * size_of(array.type);
    return nullptr;
  }
};

}  // namespace onkel
