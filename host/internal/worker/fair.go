package worker

import (
	"time"
)

// fairInterval is how often the use of processors is looked at while calls run.
const fairInterval = 250 * time.Millisecond

// crowdingTime is how much processor time a worker may use while other plugins have calls before its priority is
// lowered. It gets no better by itself, since the system lets nobody raise it again: a worker that was demoted is
// replaced as soon as no call runs in it.
const crowdingTime = 2 * time.Second

// keepFair looks after fairness as long as calls run.
func (b *Pool) keepFair() {
	if b.watching || len(b.workers) < 2 {
		return
	}
	b.watching = true
	go func() {
		ticker := time.NewTicker(fairInterval)
		defer ticker.Stop()
		calls := map[*Supervisor]int64{}
		for range ticker.C {
			b.mu.Lock()
			if b.running == 0 {
				b.watching = false
				b.mu.Unlock()
				return
			}
			b.demoteCrowding(calls)
			b.mu.Unlock()
		}
	}()
}

// demoteCrowding lowers the priority of workers that compute much while others want to. calls is how many calls
// each plugin had made the last time.
func (b *Pool) demoteCrowding(calls map[*Supervisor]int64) {
	wanting := map[*Supervisor]bool{} // plugins that had a call since
	for p, s := range b.workers {
		if s.calls != calls[s] || p.isActive() {
			wanting[s] = true
		}
	}
	for p, s := range b.workers {
		now, err := p.processorTime()
		used := now - p.computed
		if err != nil || p.computed == 0 {
			used = 0
		}
		p.computed = now
		others := len(wanting)
		if wanting[s] {
			others--
		}
		if others > 0 {
			p.crowding += used
		}
		if p.crowding >= crowdingTime && !p.demoted.Load() {
			p.demoted.Store(true)
			p.demote()
			s.config.Log.Warn("the plugin computes much while others want to: its priority is lowered", "processor time", p.crowding)
		}
	}
	for _, s := range b.workers {
		calls[s] = s.calls
	}
}

func (p *process) isActive() bool { return p.active.Load() > 0 }

// rested notes that no call runs in the process.
func (p *process) rested() {
	now := time.Now().UnixNano()
	p.idleSince.Store(now)
	if now-p.measured.Load() > int64(time.Second) {
		p.measure()
	}
}
