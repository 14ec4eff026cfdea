package workflow

import "slices"

// cycle returns the ids in a cycle of dependencies, with the same id first and last; nil if there is no cycle.
func (s *Schema) cycle() []string {
	const (
		unseen = iota
		onPath
		done
	)
	state := map[string]int{}
	var trail []string
	var visit func(a *Artifact) []string
	visit = func(a *Artifact) []string {
		state[a.ID] = onPath
		trail = append(trail, a.ID)
		for _, id := range a.Requires {
			switch state[id] {
			case onPath:
				cycle := slices.Clone(trail[slices.Index(trail, id):])
				return append(cycle, id)
			case unseen:
				if cycle := visit(s.Artifact(id)); cycle != nil {
					return cycle
				}
			}
		}
		state[a.ID] = done
		trail = trail[:len(trail)-1]
		return nil
	}
	for i := range s.Artifacts {
		if state[s.Artifacts[i].ID] == unseen {
			if cycle := visit(&s.Artifacts[i]); cycle != nil {
				return cycle
			}
		}
	}
	return nil
}

// BuildOrder returns the artifacts in topological order: each artifact comes after the artifacts that it requires.
// Otherwise the order is that of the file.
func (s *Schema) BuildOrder() []*Artifact {
	// The number of required artifacts that are not in the order yet, for each artifact; -1 for an artifact in the order.
	waits := make([]int, len(s.Artifacts))
	unlocks := map[string][]int{}
	for i, a := range s.Artifacts {
		waits[i] = len(a.Requires)
		for _, id := range a.Requires {
			unlocks[id] = append(unlocks[id], i)
		}
	}
	order := make([]*Artifact, 0, len(s.Artifacts))
	for range s.Artifacts {
		next := slices.Index(waits, 0)
		if next < 0 {
			break // the schema has a cycle, which Parse refuses
		}
		waits[next] = -1
		order = append(order, &s.Artifacts[next])
		for _, i := range unlocks[s.Artifacts[next].ID] {
			waits[i]--
		}
	}
	return order
}

// Unmet returns the ids of those artifacts that the artifact a requires and that are not complete, in the order of the
// file.
func (s *Schema) Unmet(a *Artifact, complete map[string]bool) []string {
	var unmet []string
	for _, other := range s.Artifacts {
		for _, id := range a.Requires {
			if id == other.ID && !complete[id] {
				unmet = append(unmet, id)
			}
		}
	}
	return unmet
}

// Unlocks returns the ids of the artifacts that require the artifact with the given id, in the order of the file.
func (s *Schema) Unlocks(id string) []string {
	unlocks := []string{}
	for _, a := range s.Artifacts {
		if slices.Contains(a.Requires, id) {
			unlocks = append(unlocks, a.ID)
		}
	}
	return unlocks
}

// Missing returns the incomplete artifacts in build order. It considers the artifacts with the given ids, and all
// artifacts that these require.
func (s *Schema) Missing(ids []string, complete map[string]bool) []string {
	needed := map[string]bool{}
	for queue := slices.Clone(ids); len(queue) > 0; queue = queue[1:] {
		a := s.Artifact(queue[0])
		if a == nil || needed[a.ID] {
			continue
		}
		needed[a.ID] = true
		queue = append(queue, a.Requires...)
	}
	var missing []string
	for _, a := range s.BuildOrder() {
		if needed[a.ID] && !complete[a.ID] {
			missing = append(missing, a.ID)
		}
	}
	return missing
}
