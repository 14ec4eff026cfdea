package worker

import (
	"time"
)

// fairInterval is the interval at which the workers' processor time is sampled while calls run.
const fairInterval = 250 * time.Millisecond

// crowdingTime is the processor time after which a worker is demoted. Only the time that it uses while other plugins have calls
// counts. An unprivileged process cannot raise a priority again, so a demoted worker is replaced as soon as it is idle.
const crowdingTime = 2 * time.Second

// keepFair starts the sampling of processor time, which stops when no call runs.
func (b *Pool) keepFair() {
	if b.sampling || len(b.workers) < 2 {
		return
	}
	b.sampling = true
	go func() {
		ticker := time.NewTicker(fairInterval)
		defer ticker.Stop()
		calls := map[*Supervisor]int64{}
		for range ticker.C {
			b.mu.Lock()
			if b.running == 0 {
				b.sampling = false
				b.mu.Unlock()
				return
			}
			b.demoteCrowding(calls)
			b.mu.Unlock()
		}
	}()
}

// demoteCrowding lowers the priority of workers that used crowdingTime while other plugins had calls. calls is the
// number of calls of each plugin at the previous sample.
func (b *Pool) demoteCrowding(calls map[*Supervisor]int64) {
	wanting := map[*Supervisor]bool{} // plugins that had a call since the previous sample
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
			s.config.Log.Warn("the plugin used much processor time while other plugins had calls: its priority is lowered", "processor time", p.crowding)
		}
	}
	for _, s := range b.workers {
		calls[s] = s.calls
	}
}

func (p *process) isActive() bool { return p.active.Load() > 0 }
