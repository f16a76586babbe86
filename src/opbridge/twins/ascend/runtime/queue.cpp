// TQue: buffers that go from the pipe that fills them to the one that uses them, and back.
#include <opbridge_ascend/machine.h>

#include <algorithm>

#include "block.h"
#include "names.h"
#include "soc.h"

namespace opbridge_ascend {
namespace {

std::string call_at(Place at, const char* call, AscendC::TPosition position) {
  return text_of(at) + ", " + call + " of a " + name_of(position) + " queue";
}

}  // namespace

void Queue::init(uint32_t count, uint32_t bytes, Place at) {
  first_ = Block::current().allocate(count, bytes, position_, at);
  // Where the two units share a core, the vector unit takes what the matrix unit has computed.
  if (position_ == AscendC::TPosition::CO1 && chosen_soc()->vector_cores == 1) consumer_ = PIPE_V;
  count_ = static_cast<uint16_t>(count);
  next_ = 0;
  head_ = length_ = 0;
}

bool Queue::has_idle() const {
  Block& block = Block::current();
  for (uint16_t i = 0; i < count_; ++i) {
    if (block.buffer(static_cast<uint16_t>(first_ + i)).state == State::idle) return true;
  }
  return false;
}

Local Queue::alloc(Place at) {
  Block& block = Block::current();
  if (!has_idle()) {
    const std::string what = count_ == 0 ? "the queue was not given to InitBuffer"
                                         : "all " + std::to_string(count_) + " buffers of the queue are in use";
    block.fail(Kind::no_free_tensor, what, call_at(at, "AllocTensor", position_));
  }
  while (block.buffer(static_cast<uint16_t>(first_ + next_)).state != State::idle) {
    next_ = static_cast<uint16_t>((next_ + 1) % count_);
  }
  const auto number = static_cast<uint16_t>(first_ + next_);
  next_ = static_cast<uint16_t>((next_ + 1) % count_);
  Buffer& buffer = block.buffer(number);
  buffer.state = State::allocated;
  buffer.place = at;
  if (block.registers.checked) {
    block.learn(producer_, buffer.handed);
    block.forget_contents(buffer);
  }
  return block.local(number);
}

void Queue::check_owns(const Local& tensor, const char* call, Place at) const {
  Block& block = Block::current();
  // In words only where something is wrong: putting them together takes longer than a small copy.
  const auto where = [&] { return call_at(at, call, position_); };
  if (tensor.buffer < first_ || tensor.buffer >= first_ + count_ || tensor.data == nullptr) {
    block.fail(Kind::wrong_queue, "the tensor is not of this queue", where());
  }
  const Buffer& buffer = block.buffer(tensor.buffer);
  if (buffer.generation != tensor.generation) {
    block.fail(Kind::wrong_queue, "the tensor is freed already", where(), {{"freed", text_of(buffer.place)}});
  }
  if (buffer.state == State::queued) {
    block.fail(Kind::wrong_queue, "the tensor is in the queue already", where(), {{"before", text_of(buffer.place)}});
  }
}

bool Queue::enqueue(const Local& tensor, Place at) {
  check_owns(tensor, "EnQue", at);
  Block& block = Block::current();
  // Depth 0 is one tensor that is changed in place.
  if (length_ >= std::min(std::max(depth_, 1), kMost)) {
    if (!block.registers.checked) return false;
    block.fail(Kind::queue_full, "the queue holds " + std::to_string(length_) + " tensors, which is its depth",
               call_at(at, "EnQue", position_));
  }
  Buffer& buffer = block.buffer(tensor.buffer);
  buffer.state = State::queued;
  buffer.place = at;
  buffer.handed = block.clock(producer_);
  waiting_[(head_ + length_++) % kMost] = tensor.buffer;
  return true;
}

Local Queue::dequeue(Place at) {
  Block& block = Block::current();
  if (length_ == 0) block.fail(Kind::queue_empty, "the queue is empty", call_at(at, "DeQue", position_));
  const uint16_t number = waiting_[head_];
  head_ = (head_ + 1) % kMost;
  --length_;
  Buffer& buffer = block.buffer(number);
  buffer.state = State::dequeued;
  buffer.place = at;
  block.learn(consumer_, buffer.handed);
  return block.local(number);
}

void Queue::free(const Local& tensor, Place at) {
  check_owns(tensor, "FreeTensor", at);
  Block& block = Block::current();
  Buffer& buffer = block.buffer(tensor.buffer);
  buffer.state = State::idle;
  buffer.place = at;
  buffer.handed = block.clock(consumer_);
  ++buffer.generation;
}

}  // namespace opbridge_ascend
