package usage

import (
	"fmt"
	"strings"
)

// DidYouMean returns the question whether name is a misspelling of the nearest known name. If none is near, it returns otherwise.
func DidYouMean(name string, known []string, otherwise string) string {
	if near := Nearest(name, known); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return otherwise
}

// Nearest returns the known name that name is most likely a misspelling of, or "" if there is none.
func Nearest(name string, known []string) string {
	name = strings.ToLower(name)
	best, bestDist := "", 3
	for _, k := range known {
		// Short names need a smaller distance, because every short word is close to every other one.
		if d := distance(name, k); d < bestDist && 2*d < len(k)+1 {
			best, bestDist = k, d
		}
	}
	return best
}

// distance returns the edit distance (optimal string alignment) of a and b, at most 3.
func distance(a, b string) int {
	const far = 3
	if d := len(a) - len(b); d >= far || d <= -far {
		return far
	}
	before, prev, cur := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], before[j-2]+1)
			}
		}
		before, prev, cur = prev, cur, before
	}
	return min(prev[len(b)], far)
}
