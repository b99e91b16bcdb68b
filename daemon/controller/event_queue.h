// What an EventStream is given, and its single events that wait.
#ifndef DAEMON_CONTROLLER_EVENT_QUEUE_H_
#define DAEMON_CONTROLLER_EVENT_QUEUE_H_

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <utility>

#include "daemon/controller/send_room.h"

namespace clusterd {

struct EventStreamOptions {
  // The client has gone before the end; at most once.
  std::function<void()> on_leave = [] {};
  // The client has taken an event. Must not block.
  std::function<void()> on_written = [] {};
  // The call is over; the last that is called.
  std::function<void()> on_end = [] {};
  // Single events that may wait; further ones are dropped.
  size_t max_queued = 1024;
  size_t max_queued_bytes = 32 << 20;
  // Waits for it with the last event; null: that waits for nothing.
  std::shared_ptr<RoomForOne> room;
};

// Not safe for concurrent use.
template <typename Event>
class EventQueue {
 public:
  // False: there is no room for it.
  bool Push(Event event, const EventStreamOptions& limits) {
    const size_t bytes = event.ByteSizeLong();
    if (events_.size() >= limits.max_queued ||
        bytes_ + bytes > limits.max_queued_bytes) {
      return false;
    }
    bytes_ += bytes;
    events_.push_back(std::move(event));
    return true;
  }

  // The oldest; false: there is none.
  bool Pop(Event* event) {
    if (events_.empty()) return false;
    *event = std::move(events_.front());
    events_.pop_front();
    bytes_ -= event->ByteSizeLong();
    return true;
  }

  size_t size() const { return events_.size(); }

 private:
  std::deque<Event> events_;
  size_t bytes_ = 0;
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_EVENT_QUEUE_H_
