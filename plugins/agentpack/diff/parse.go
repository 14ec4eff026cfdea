package diff

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// hunk is one change of a patch. It replaces the lines in old, which begin at about line oldStart, by the lines in new.
type hunk struct {
	line               int // the line number in the patch at which the hunk begins with @@, from 1
	oldStart, newStart int // line numbers as the patch states them, from 1; 0 if there are no lines
	old, new           [][]byte
	trailing           int // number of context lines after the last changed line
}

// minMarker is the minimum length of the no-newline marker, which is the line "\ No newline at end of file". Git checks
// only the length of the line, because the text is localized.
const minMarker = 12

// reader reads a patch line by line. Each line includes its newline.
type reader struct {
	rest   []byte
	number int // the line number of the next line, from 1
}

func (r *reader) peek() []byte {
	if end := bytes.IndexByte(r.rest, '\n'); end >= 0 {
		return r.rest[:end+1]
	}
	return r.rest
}

func (r *reader) skip(line []byte) {
	r.rest = r.rest[len(line):]
	r.number++
}

// parse returns the hunks of a patch. The caller must have checked that exactly one line begins with "--- " and exactly
// one with "+++ ".
func parse(text []byte) ([]hunk, error) {
	r := &reader{rest: text, number: 1}
	if err := r.header(); err != nil {
		return nil, err
	}
	var hunks []hunk
	for bytes.HasPrefix(r.rest, []byte("@@ -")) && len(r.rest) > len("@@ -") {
		h, err := r.hunk()
		if err != nil {
			return nil, fmt.Errorf("corrupt patch at line %d: %w", r.number, err)
		}
		hunks = append(hunks, h)
	}
	if len(hunks) == 0 {
		return nil, errNoHunks
	}
	return hunks, r.trailer()
}

// header skips everything before the first hunk: any leading text, such as an e-mail or git's extended header, and the
// two lines that name the file. It refuses an extended header that creates, deletes, renames or copies a file.
func (r *reader) header() error {
	gitHeader := false
	for len(r.rest) > 0 {
		line := r.peek()
		switch {
		case isHunkHeader(line):
			return fmt.Errorf("line %d: a hunk precedes the lines that begin with --- and +++", r.number)
		case bytes.HasPrefix(line, []byte("diff --git ")):
			gitHeader = true
		case gitHeader && changesMoreThanText(line):
			return fmt.Errorf("line %d: %q: a patch may only change a file's text", r.number, bytes.TrimSpace(line))
		case gitHeader && !validMode(line):
			return fmt.Errorf("line %d: %q: invalid file mode", r.number, bytes.TrimSpace(line))
		}
		r.skip(line)
		if bytes.HasPrefix(line, []byte("--- ")) {
			next := r.peek()
			if !bytes.HasPrefix(next, []byte("+++ ")) {
				return fmt.Errorf("line %d: a line that begins with +++ must follow the line that begins with ---", r.number)
			}
			for i, name := range [][]byte{line, next} {
				if !endsLikeName(string(name[len("--- "):]), gitHeader) {
					return fmt.Errorf("line %d: only a tab, or a time stamp after a space, may follow the path", r.number-1+i)
				}
			}
			r.skip(next)
			return nil
		}
	}
	return errors.New("the patch has no header: expected a line that begins with --- and then a line that begins with +++")
}

// timestamp matches the time stamp that some versions of diff -u write after the path and a space.
var timestamp = regexp.MustCompile(`^ \d{2,4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?( [+-]\d\d:?\d\d)?$`)

// endsLikeName reports whether git, when it parses the text after "--- " or "+++ ", takes the text up to the first
// space for the path. Git takes a space for a part of the path, unless a time stamp follows.
func endsLikeName(text string, gitHeader bool) bool {
	text = strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r")
	end := strings.IndexFunc(strings.TrimLeft(text, " "), unicode.IsSpace)
	if end < 0 {
		return true
	}
	rest := strings.TrimLeft(text, " ")[end:]
	return rest[0] == '\t' || !gitHeader && timestamp.MatchString(rest)
}

// mode matches a file mode in the syntax that git accepts.
var mode = regexp.MustCompile(`^[0-7]+\s`)

// validMode reports whether a line of git's extended header has a valid file mode or no file mode at all.
func validMode(line []byte) bool {
	text := string(line)
	for _, start := range []string{"old mode ", "new mode "} {
		if rest, ok := strings.CutPrefix(text, start); ok {
			return mode.MatchString(rest)
		}
	}
	if rest, ok := strings.CutPrefix(text, "index "); ok {
		if _, rest, ok = strings.Cut(rest, " "); ok {
			return mode.MatchString(rest)
		}
	}
	return true
}

// changesMoreThanText reports whether a line of git's extended header says that the patch creates, deletes, renames or
// copies a file.
func changesMoreThanText(line []byte) bool {
	for _, start := range []string{"new file mode ", "deleted file mode ", "rename ", "copy "} {
		if bytes.HasPrefix(line, []byte(start)) {
			return true
		}
	}
	return false
}

// trailer returns an error if the text after the last hunk contains another hunk or another patch.
func (r *reader) trailer() error {
	for len(r.rest) > 0 {
		line := r.peek()
		if isHunkHeader(line) || bytes.HasPrefix(line, []byte("diff --git ")) {
			return fmt.Errorf("line %d: a hunk or file header follows a line that is not part of the patch", r.number)
		}
		r.skip(line)
	}
	return nil
}

func isHunkHeader(line []byte) bool {
	_, err := hunkHeader(line)
	return err == nil
}

type ranges struct{ oldStart, oldLines, newStart, newLines int }

// hunkStart matches the beginning of a line such as "@@ -1,2 +3,4 @@".
var hunkStart = regexp.MustCompile(`^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@`)

// hunkHeader parses a line such as "@@ -1,2 +3,4 @@". A count that is absent is 1. hunkHeader ignores the text after
// the second @@.
func hunkHeader(line []byte) (ranges, error) {
	numbers := hunkStart.FindSubmatch(line)
	if numbers == nil || !bytes.HasSuffix(line, []byte("\n")) {
		return ranges{}, errors.New("a hunk must begin with @@ -start,count +start,count @@")
	}
	return ranges{number(numbers[1]), number(numbers[2]), number(numbers[3]), number(numbers[4])}, nil
}

// number returns the value of decimal digits; 1 if there are none, and math.MaxInt32 for a larger number.
func number(digits []byte) int {
	if len(digits) == 0 {
		return 1
	}
	value, _ := strconv.Atoi(string(digits)) // the value of a number that is out of range is the maximum of int
	return min(value, math.MaxInt32)
}

// hunk parses one hunk, which ends when it has as many old and new lines as its header states.
func (r *reader) hunk() (hunk, error) {
	line := r.peek()
	left, err := hunkHeader(line)
	if err != nil {
		return hunk{}, err
	}
	h := hunk{line: r.number, oldStart: left.oldStart, newStart: left.newStart}
	r.skip(line)
	changed := false
	for left.oldLines > 0 || left.newLines > 0 {
		line := r.peek()
		if !bytes.HasSuffix(line, []byte("\n")) {
			return h, errors.New("the hunk has fewer lines than its header states")
		}
		r.skip(line)
		switch line[0] {
		case '\n', ' ':
			left.oldLines, left.newLines = left.oldLines-1, left.newLines-1
			h.trailing++
		case '-':
			left.oldLines--
			h.trailing, changed = 0, true
		case '+':
			left.newLines--
			h.trailing, changed = 0, true
		case '\\':
			if !isMarker(line) {
				return h, errors.New(`a line of a hunk begins with a backslash; only \ No newline at end of file may`)
			}
			continue
		default:
			return h, fmt.Errorf("a line of a hunk must begin with a space, + or -, not with %q", line[0])
		}
		h.take(line, r.markerNext())
	}
	if left.oldLines < 0 || left.newLines < 0 {
		return h, errors.New("the hunk has more lines than its header states")
	}
	if !changed {
		return h, errors.New("the hunk changes nothing")
	}
	// A no-newline marker for the last line follows after the hunk has all its lines.
	if r.markerNext() {
		r.skip(r.peek())
	}
	return h, nil
}

func isMarker(line []byte) bool {
	return len(line) >= minMarker && bytes.HasPrefix(line, []byte(`\ `))
}

// markerNext reports whether the next line is a no-newline marker. Like git, markerNext checks the length of the
// remaining patch instead of the length of the line. The method hunk refuses a marker that is too short.
func (r *reader) markerNext() bool {
	return len(r.rest) > minMarker && bytes.HasPrefix(r.rest, []byte(`\ `))
}

// take adds a line of the patch to the old or new lines of the hunk, or to both. It adds the line without its newline
// if a no-newline marker follows.
func (h *hunk) take(line []byte, marked bool) {
	content := line[1:]
	if line[0] == '\n' { // an empty context line without its leading space
		if marked {
			return // the line is empty, because a no-newline marker removes its newline
		}
		content = line
	}
	if marked {
		content = bytes.TrimSuffix(content, []byte("\n"))
	}
	if line[0] != '+' {
		h.old = append(h.old, content)
	}
	if line[0] != '-' {
		h.new = append(h.new, content)
	}
}
