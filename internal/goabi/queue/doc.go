// Package queue exports proxy_on_queue_ready, which tells of new entries in
// shared queues. Import it for its side effect.
package queue
