package agreement

import "encoding/json"

// Steps returns the units of work of Input and Output for two schemas, and the error of each.
func Steps(manifest, derived json.RawMessage) (steps [2]int, errs [2]error) {
	for i, from := range []func(*comparison, []place, typed){(*comparison).input, (*comparison).output} {
		c := &comparison{seen: map[string]bool{}}
		errs[i] = c.run(manifest, derived, from)
		steps[i] = c.steps
	}
	return steps, errs
}

// ErrTooComplex is the error of a comparison that exceeds its bounds.
var ErrTooComplex = errTooComplex
