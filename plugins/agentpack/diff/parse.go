package diff

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strings"
	"unicode"
)

// hunk is one change: the lines old, at about oldStart, become the lines new.
type hunk struct {
	line               int // line number of its @@ line in the patch, from 1
	oldStart, newStart int // as written: from 1; 0 if there are no lines
	old, new           [][]byte
	trailing           int // number of context lines after the last changed line
}

// minMarker is the minimum length of the line that says that there is no newline at the end of file. Git
// checks only the length, since the words are localized.
const minMarker = 12

// reader reads a patch line by line. A line includes its newline.
type reader struct {
	rest   []byte
	number int // number of the next line, from 1
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

// parse returns the hunks of a patch that has exactly one line "--- " and one "+++ ".
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

// header skips everything up to and including the two lines that name the file: an e-mail, or git's extended
// header, of which lines are refused that create, delete, rename or copy a file.
func (r *reader) header() error {
	gitHeader := false
	for len(r.rest) > 0 {
		line := r.peek()
		switch {
		case isHunkHeader(line):
			return fmt.Errorf("line %d: a hunk comes before the lines --- and +++", r.number)
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
				return fmt.Errorf("line %d: a line +++ must follow the line ---", r.number)
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
	return errors.New("the patch has no header: expected a line --- followed by a line +++")
}

// timestamp is what diff -u without tabs writes after a path.
var timestamp = regexp.MustCompile(`^ \d{2,4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?( [+-]\d\d:?\d\d)?$`)

// endsLikeName reports whether the text of a line --- or +++ is a path that ends where git ends it: git takes a
// space as part of the path, unless a time stamp follows.
func endsLikeName(text string, gitHeader bool) bool {
	text = strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r")
	end := strings.IndexFunc(strings.TrimLeft(text, " "), unicode.IsSpace)
	if end < 0 {
		return true
	}
	rest := strings.TrimLeft(text, " ")[end:]
	return rest[0] == '\t' || !gitHeader && timestamp.MatchString(rest)
}

// mode is a file mode as git parses it.
var mode = regexp.MustCompile(`^[0-7]+\s`)

// validMode reports whether a line of git's extended header has no file mode, or a valid one.
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

// changesMoreThanText reports whether a line of git's extended header creates, deletes, renames or copies a
// file.
func changesMoreThanText(line []byte) bool {
	for _, start := range []string{"new file mode ", "deleted file mode ", "rename ", "copy "} {
		if bytes.HasPrefix(line, []byte(start)) {
			return true
		}
	}
	return false
}

// trailer checks the text after the last hunk: it must not contain more of this patch, or another one.
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

// hunkHeader parses "@@ -1,2 +3,4 @@"; a count defaults to 1. The rest of the line is ignored.
func hunkHeader(line []byte) (ranges, error) {
	var r ranges
	bad := errors.New("a hunk begins with @@ -start,count +start,count @@")
	rest, ok := bytes.CutPrefix(line, []byte("@@ -"))
	if !ok || !bytes.HasSuffix(line, []byte("\n")) {
		return r, bad
	}
	r.oldStart, r.oldLines, rest, ok = oneRange(rest, " +")
	if !ok {
		return r, bad
	}
	r.newStart, r.newLines, _, ok = oneRange(rest, " @@")
	if !ok {
		return r, bad
	}
	return r, nil
}

func oneRange(text []byte, end string) (start, count int, rest []byte, ok bool) {
	start, rest, ok = number(text)
	if !ok {
		return 0, 0, nil, false
	}
	count = 1
	if after, comma := bytes.CutPrefix(rest, []byte(",")); comma {
		if count, rest, ok = number(after); !ok {
			return 0, 0, nil, false
		}
	}
	rest, ok = bytes.CutPrefix(rest, []byte(end))
	return start, count, rest, ok
}

// number parses decimal digits; values above math.MaxInt32 are capped.
func number(text []byte) (value int, rest []byte, ok bool) {
	at := 0
	for at < len(text) && '0' <= text[at] && text[at] <= '9' {
		value = min(value*10+int(text[at]-'0'), math.MaxInt32)
		at++
	}
	return value, text[at:], at > 0
}

// hunk parses one hunk, which ends when both counts are reached.
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
			return h, errors.New("the hunk has fewer lines than its header counts")
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
				return h, errors.New(`a line of a hunk begins with a backslash, but is not \ No newline at end of file`)
			}
			continue
		default:
			return h, fmt.Errorf("a line of a hunk begins with a space, + or -, not with %q", line[0])
		}
		h.take(line, r.markerNext())
	}
	if left.oldLines < 0 || left.newLines < 0 {
		return h, errors.New("the hunk has more lines than its header counts")
	}
	if !changed {
		return h, errors.New("the hunk changes nothing")
	}
	// The marker after the last line comes after both counts are reached.
	if r.markerNext() {
		r.skip(r.peek())
	}
	return h, nil
}

func isMarker(line []byte) bool {
	return len(line) >= minMarker && bytes.HasPrefix(line, []byte(`\ `))
}

// markerNext reports whether the next line is a marker. Like git it compares the length of all that remains,
// not of the line; hunk refuses a short marker when it reaches it.
func (r *reader) markerNext() bool {
	return len(r.rest) > minMarker && bytes.HasPrefix(r.rest, []byte(`\ `))
}

// take adds a line to the old and new lines, without its newline if a marker follows.
func (h *hunk) take(line []byte, marked bool) {
	content := line[1:]
	if line[0] == '\n' { // an empty context line that lost its leading space
		if marked {
			return // without its newline nothing is left of the line
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
