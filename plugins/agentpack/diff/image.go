package diff

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
)

// maxWork is the maximum number of lines that Apply compares and moves for one patch, because a malicious patch can
// take quadratic time. Patches of real files need far less work.
const maxWork = 100_000_000

var (
	errNoMatch     = errors.New("the patch does not apply: the file does not contain the context and removed lines")
	errTooMuchWork = fmt.Errorf("applying the patch takes more than %d comparisons: use a smaller patch", maxWork)
)

// image is the content of a file that is being patched.
type image struct {
	lines []imageLine
	work  int // number of lines that were compared and moved so far
}

// imageLine is a line together with its newline. The field patched is set if a hunk has written the line; later hunks
// must not match such a line.
type imageLine struct {
	text    []byte
	patched bool
}

func newImage(text []byte) *image {
	m := &image{}
	for line := range bytes.Lines(text) {
		m.lines = append(m.lines, imageLine{text: line})
	}
	return m
}

func (m *image) bytes() []byte {
	result := []byte{}
	for _, line := range m.lines {
		result = append(result, line.text...)
	}
	return result
}

// apply replaces the old lines of a hunk by the new lines of the hunk.
func (m *image) apply(h hunk) error {
	at, err := m.find(h)
	if err != nil {
		return err
	}
	lines := make([]imageLine, len(h.new))
	for i, text := range h.new {
		lines[i] = imageLine{text: text, patched: true}
	}
	m.lines = slices.Replace(m.lines, at, at+len(h.old), lines...)
	m.work += len(m.lines)
	return nil
}

// find returns the index of the line at which the old lines of a hunk match. It first tries the line that the hunk
// states, then the lines after and before that line in order of distance.
func (m *image) find(h hunk) (int, error) {
	atBeginning := h.oldStart <= 1
	atEnd := h.trailing == 0
	start := max(h.newStart-1, 0)
	switch {
	case atBeginning:
		start = 0
	case atEnd:
		start = len(m.lines) - len(h.old)
	}
	if atBeginning || atEnd {
		if start < 0 || atBeginning && start != 0 || atEnd && start+len(h.old) != len(m.lines) || !m.matches(h.old, start) {
			return 0, errNoMatch
		}
		return start, nil
	}
	start = min(start, len(m.lines))
	for distance := 0; start-distance >= 0 || start+distance <= len(m.lines); distance++ {
		if m.matches(h.old, start+distance) {
			return start + distance, nil
		}
		if m.matches(h.old, start-distance) {
			return start - distance, nil
		}
		if m.work > maxWork {
			return 0, errTooMuchWork
		}
	}
	return 0, errNoMatch
}

// matches reports whether the lines of the image from the index "at" equal the argument lines, and no hunk has written
// them.
func (m *image) matches(lines [][]byte, at int) bool {
	m.work++
	if at < 0 || at+len(lines) > len(m.lines) {
		return false
	}
	for i, want := range lines {
		m.work++
		if line := m.lines[at+i]; line.patched || !bytes.Equal(line.text, want) {
			return false
		}
	}
	return true
}
