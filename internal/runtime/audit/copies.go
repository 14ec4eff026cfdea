package audit

import "github.com/bulkhead-mcp/bulkhead/internal/base/linequeue"

// Copy is where a copy of each line goes, such as the journal of systemd. It never delays or refuses a call, not even with FailClosed: its
// lines wait in a queue of its own, and those that are lost are counted in a gap line of the copy, and in the host's log.
type Copy struct {
	Name string
	Out  Appender
}

// copyQueue is an open Copy.
type copyQueue struct {
	sink  *sink
	queue *linequeue.Queue
}

func newCopyQueue(to Copy, c Config) *copyQueue {
	s := &sink{out: to.Out, losses: &losses{to: to.Name, log: c.Log, now: c.Now}}
	return &copyQueue{sink: s, queue: linequeue.New(maxQueue, func(batch []byte, _ int) {
		_ = s.put(batch) // put counts the records that are lost
	})}
}
