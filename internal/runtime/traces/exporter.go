package traces

import (
	"context"
	"crypto/rand"
	"net/http"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/base/download"
)

// Bounds of an Exporter.
const (
	maxQueued = 4096             // spans
	maxBatch  = 512              // spans of a request
	gather    = time.Second      // that spans wait for others, so that they are sent together
	maxTries  = 5                // of sending a batch
	firstWait = time.Second      // before the second try; doubled for each further one
	maxWait   = 30 * time.Second // whatever the collector asks for
)

// Exporter sends spans to a collector. It is safe for concurrent use.
type Exporter struct {
	config Config
	source Source

	wake    chan struct{} // receives an element when spans were added
	full    chan struct{} // receives an element when there are enough for a batch
	closing chan struct{} // closed by Close: the rest is sent at once, and tried once
	done    chan struct{} // closed when nothing is sent any more
	ctx     context.Context
	cancel  context.CancelFunc
	failing bool // whether the last batch was not sent; only run uses it

	mu     sync.Mutex
	queue  []Span
	closed bool
	stats  Stats
}

// Stats counts spans.
type Stats struct {
	Sent    int64 // accepted by the collector
	Dropped int64 // lost, because the queue was full, or the collector did not accept them
}

// Plus returns the sums.
func (s Stats) Plus(o Stats) Stats { return Stats{s.Sent + o.Sent, s.Dropped + o.Dropped} }

// Config describes an Exporter.
type Config struct {
	To      string                      // base of the collector's URLs, such as http://127.0.0.1:4318
	Headers func() (http.Header, error) // returns those of a request, which can change; nil: there are none
	Sample  float64                     // the part of the traces that begin here that is sent, from 0 to 1
	Version string                      // of the program
	Log     hclog.Logger
	Client  download.Client
}

// New starts an Exporter, which the caller must Close.
func New(c Config) *Exporter {
	e := &Exporter{
		config: c, source: Source{Version: c.Version, Instance: rand.Text()},
		wake: make(chan struct{}, 1), full: make(chan struct{}, 1), closing: make(chan struct{}), done: make(chan struct{}),
	}
	e.ctx, e.cancel = context.WithCancel(context.Background())
	go e.run()
	return e
}

// Add queues the spans of a request, or drops all of them if the queue has no room. It does not wait for the collector.
func (e *Exporter) Add(spans []Span) {
	if len(spans) == 0 {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed || len(e.queue)+len(spans) > maxQueued {
		e.stats.Dropped += int64(len(spans))
		return
	}
	e.queue = append(e.queue, spans...)
	signal(e.wake)
	if len(e.queue) >= maxBatch {
		signal(e.full)
	}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default: // a signal is already pending
	}
}

// Stats returns what has become of the spans.
func (e *Exporter) Stats() Stats {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.stats
}

// Close sends the spans in the queue, and drops the rest when ctx ends.
func (e *Exporter) Close(ctx context.Context) {
	e.mu.Lock()
	first := !e.closed
	e.closed = true
	e.mu.Unlock()
	if first {
		close(e.closing)
	}
	select {
	case <-e.done:
	case <-ctx.Done():
	}
	e.cancel()
	<-e.done
}

func (e *Exporter) run() {
	defer close(e.done)
	defer e.cancel()
	for {
		select {
		case <-e.wake:
		case <-e.closing:
		}
		e.wait(gather, e.full)
		last := e.isClosing() // before the queue is emptied: from then on Add refuses spans
		for batch := e.take(); len(batch) > 0; batch = e.take() {
			e.deliver(batch)
		}
		if last {
			return
		}
	}
}

// wait waits until the time has passed, the channel receives, or the Exporter is closed.
func (e *Exporter) wait(d time.Duration, earlier <-chan struct{}) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-earlier:
	case <-e.closing:
	}
}

func (e *Exporter) isClosing() bool {
	select {
	case <-e.closing:
		return true
	default:
		return false
	}
}

// take removes a batch from the queue.
func (e *Exporter) take() []Span {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := min(len(e.queue), maxBatch)
	batch := e.queue[:n:n]
	if e.queue = e.queue[n:]; len(e.queue) == 0 {
		e.queue = nil // so that the memory of a burst is freed
	}
	return batch
}

// deliver sends a batch. It tries again if the collector cannot be reached or asks for that.
func (e *Exporter) deliver(batch []Span) {
	body, err := e.source.body(batch)
	if err != nil {
		e.report(batch, 0, err)
		return
	}
	pause := firstWait
	for try := 1; ; try++ {
		accepted, err := e.post(body, len(batch))
		again := retryOf(err)
		if again == nil || try == maxTries || e.isClosing() {
			e.report(batch, accepted, err)
			return
		}
		e.reportFailure(err)
		e.wait(min(max(pause, again.after), maxWait), nil)
		pause *= 2
	}
}

// report counts a batch that was sent or is dropped.
func (e *Exporter) report(batch []Span, accepted int, err error) {
	e.mu.Lock()
	e.stats.Sent += int64(accepted)
	e.stats.Dropped += int64(len(batch) - accepted)
	e.mu.Unlock()
	if err != nil {
		e.reportFailure(err)
		return
	}
	if e.failing {
		e.failing = false
		e.config.Log.Info("traces are sent again", "dropped", e.Stats().Dropped)
	}
}

// reportFailure logs the first of several failures.
func (e *Exporter) reportFailure(err error) {
	if !e.failing {
		e.failing = true
		e.config.Log.Warn("traces cannot be sent: see otlp in [audit]; calls are not affected", "reason", err.Error())
	}
}
