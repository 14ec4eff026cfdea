package worker

import (
	"time"
)

// fairInterval is the interval at which the workers' processor time is sampled while calls run.
const fairInterval = 250 * time.Millisecond

// crowdingTime is the processor time after which a worker is demoted. Only the time that it uses while other plugins have calls
// counts, beyond a fair share of the time that has passed: a worker that uses less is never demoted, however long it lives. An unprivileged
// process cannot raise a priority again, so a demoted worker is replaced as soon as it is idle.
const crowdingTime = 2 * time.Second

// fairShare is the divisor of the share of a processor that a worker may use without crowding others.
const fairShare = 4

// keepFair starts the sampling of processor time, which stops when no call runs.
func (p *Pool) keepFair() {
	if p.sampling || len(p.workers) < 2 {
		return
	}
	p.sampling = true
	go func() {
		ticker := time.NewTicker(fairInterval)
		defer ticker.Stop()
		calls := map[*Supervisor]int64{}
		for range ticker.C {
			p.mu.Lock()
			if p.running == 0 {
				p.sampling = false
				p.mu.Unlock()
				return
			}
			p.demoteCrowding(calls)
			p.mu.Unlock()
		}
	}()
}

// demoteCrowding lowers the priority of workers that used crowdingTime while other plugins had calls. calls is the
// number of calls of each plugin at the previous sample.
func (p *Pool) demoteCrowding(calls map[*Supervisor]int64) {
	wanting := map[*Supervisor]bool{} // plugins that had a call since the previous sample, except for scripts, which wait for the others
	for worker, s := range p.workers {
		if !s.config.CallsOthers && (s.calls != calls[s] || worker.isActive()) {
			wanting[s] = true
		}
	}
	for worker, s := range p.workers {
		now, err := p.processorTime(worker)
		used, share := now-worker.computed, time.Since(worker.sampled)/fairShare
		if err != nil || worker.computed == 0 {
			used, share = 0, 0
		}
		worker.computed, worker.sampled = now, time.Now()
		others := len(wanting)
		if wanting[s] {
			others--
		}
		if others == 0 {
			used = 0
		}
		worker.crowding = max(0, worker.crowding+used-share)
		if worker.crowding >= crowdingTime && !worker.demoted.Load() {
			worker.demoted.Store(true)
			worker.demote()
			s.config.Log.Warn("the plugin used much processor time while other plugins had calls: its priority is lowered", "processor time", worker.crowding)
		}
	}
	for _, s := range p.workers {
		calls[s] = s.calls
	}
}

func (p *process) isActive() bool { return p.active.Load() > 0 }
