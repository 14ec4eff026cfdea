package progress

import (
	"fmt"
	"strings"
	"time"
)

// interval is the time between two frames of a spinner.
const interval = 100 * time.Millisecond

// maxLines is the maximum number of tasks with a line of their own. A terminal with few rows shows fewer, since lines that have
// left the screen cannot be redrawn.
const maxLines = 8

// barWidth is the number of columns of a bar, without its brackets.
const barWidth = 20

const spinner = `|/-\`

// redraw draws until stop is closed, so that times advance. On a plain stream it repeats the steps of running tasks.
func (s *Set) redraw(stop <-chan struct{}) {
	every := interval
	if s.size == nil {
		every = s.repeat
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
			s.mu.Lock()
			s.frame++
			s.draw()
			for _, t := range s.running {
				if t.step != "" {
					s.line(t.name, t.step+", "+elapsed(t.start))
				}
			}
			s.mu.Unlock()
		}
	}
}

// line prints the step of a task on a stream that is not redrawn.
func (s *Set) line(name, step string) {
	if s.size == nil {
		fmt.Fprintf(s.w, "%s: %s\n", name, step)
	}
}

// print prints a line that remains, above those that are redrawn. It may wrap.
func (s *Set) print(line string) {
	s.erase()
	fmt.Fprintln(s.w, line)
}

// erase removes the lines that are redrawn. Errors of the stream are ignored: progress is not a result.
func (s *Set) erase() {
	if s.shown > 0 {
		fmt.Fprintf(s.w, "\x1b[%dA\r\x1b[J", s.shown)
		s.shown = 0
	}
}

// draw replaces the lines that are redrawn, in one write so that they do not flicker.
func (s *Set) draw() {
	if s.size == nil || s.stop == nil {
		return
	}
	width, height := s.size()
	var b strings.Builder
	if s.shown > 0 {
		fmt.Fprintf(&b, "\x1b[%dA\r\x1b[J", s.shown)
	}
	rows := height - 1 // the last row is for the cursor
	var total []string
	if s.tasks > 1 && s.ended < s.tasks && rows > 0 {
		total = []string{s.status()}
	}
	lines := append(s.lines(rows-len(total)), total...)
	for _, line := range lines {
		b.WriteString(truncate(line, width-1)) // a full line would wrap on some terminals
		b.WriteByte('\n')
	}
	s.shown = len(lines)
	fmt.Fprint(s.w, b.String())
}

// lines returns at most room lines for the running tasks.
func (s *Set) lines(room int) []string {
	tasks := s.running
	if len(tasks) > min(room, maxLines) {
		tasks = tasks[:max(0, min(room, 1), min(room-1, maxLines))]
	}
	names := 0
	for _, t := range tasks {
		names = max(names, columns(t.name))
	}
	var lines []string
	for _, t := range tasks {
		lines = append(lines, fmt.Sprintf("%c %s  %5s  %s", spinner[s.frame%len(spinner)], pad(t.name, min(names, 30)), elapsed(t.start), t.status()))
	}
	if more := len(s.running) - len(tasks); more > 0 && len(lines) < room {
		lines = append(lines, fmt.Sprintf("  and %d more", more))
	}
	return lines
}

// status describes a running task.
func (t *Task) status() string {
	if t.total > 0 {
		return strings.TrimSpace(fmt.Sprintf("%s %3d%% %s", bar(t.done, t.total), 100*clamp(t.done, t.total)/t.total, t.step))
	}
	return t.step
}

// status describes all tasks.
func (s *Set) status() string {
	text := fmt.Sprintf("%s %d of %d", bar(int64(s.ended), int64(s.tasks)), s.ended, s.tasks)
	if s.failed > 0 {
		text += fmt.Sprintf(", %d failed", s.failed)
	}
	return text + "  " + elapsed(s.start)
}

// bar draws done of total, which is positive.
func bar(done, total int64) string {
	full := int(float64(clamp(done, total)) / float64(total) * barWidth)
	text := strings.Repeat("=", full)
	if full < barWidth {
		text += ">" + strings.Repeat(" ", barWidth-full-1)
	}
	return "[" + text + "]"
}

func clamp(done, total int64) int64 { return max(0, min(done, total)) }

func elapsed(since time.Time) string { return fmt.Sprintf("%.0f s", time.Since(since).Seconds()) }

// columns returns an upper bound of the columns of visible text: scripts whose characters may be wide begin at U+1100.
func columns(text string) int {
	n := 0
	for _, r := range text {
		n += runeColumns(r)
	}
	return n
}

func runeColumns(r rune) int {
	if r >= 0x1100 {
		return 2
	}
	return 1
}

// truncate shortens visible text to at most limit columns, with … if something was cut off.
func truncate(text string, limit int) string {
	if columns(text) <= limit {
		return text
	}
	n := 1 // the width of …
	if limit < 1 {
		return ""
	}
	for i, r := range text {
		if n += runeColumns(r); n > limit {
			return text[:i] + "…"
		}
	}
	return text
}

// pad fills text with spaces to width columns, or truncates it.
func pad(text string, width int) string {
	text = truncate(text, width)
	return text + strings.Repeat(" ", max(0, width-columns(text)))
}
