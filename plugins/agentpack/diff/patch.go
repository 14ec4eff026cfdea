// Package patch applies the patch of one file, as patch overlays have it: a unified diff with the exact
// meaning that "git apply --whitespace=nowarn" gives it, all of it or nothing. Apply is the one call. It
// reads no files: the texts come in, the result goes out.
//
// What sets git apart from other programs that patch: context must match byte for byte, a hunk that has
// moved is found by looking ever further away from where it says it is, but one that begins a file or has
// no context behind it must match at the file's beginning or end.
package diff

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// MaxSize bounds a patch and the text that it is applied to, in bytes.
const MaxSize = 8 << 20

// Invalid says why a text cannot be used as the patch of a file, whatever is in the file.
type InvalidError struct{ Reason string }

// Error implements error.
func (e *InvalidError) Error() string { return e.Reason }

// Failed says why a usable patch does not apply to a text.
type ApplyError struct{ Stderr string }

// Error implements error.
func (e *ApplyError) Error() string { return e.Stderr }

// Apply returns base with the patch in text, which must be one of the file relpath (with slashes). The
// error is an *Invalid or a *Failed.
func Apply(relpath string, base, text []byte) ([]byte, error) {
	if err := check(relpath, base, text); err != nil {
		return nil, err
	}
	hunks, err := parse(text)
	if err != nil {
		return nil, &ApplyError{Stderr: err.Error()}
	}
	image := newImage(base)
	for _, h := range hunks {
		if err := image.apply(h); err != nil {
			return nil, &ApplyError{Stderr: fmt.Sprintf("hunk at line %d of the patch (@@ -%d): %v", h.line, h.oldStart, err)}
		}
	}
	return image.bytes(), nil
}

// check holds the rules that come before any hunk is looked at.
func check(relpath string, base, text []byte) error {
	switch {
	case len(base) > MaxSize || len(text) > MaxSize:
		return &InvalidError{fmt.Sprintf("the patch or its target is larger than %d MiB", MaxSize>>20)}
	case !utf8.Valid(text):
		return &InvalidError{"the patch is not UTF-8"}
	case !utf8.Valid(base):
		return &InvalidError{"the target is not UTF-8"}
	case bytes.Contains(text, []byte("GIT binary patch")):
		return &InvalidError{"binary patches are not supported"}
	}
	for _, header := range []string{"--- ", "+++ "} {
		name, err := headerPath(header, text)
		if err != nil {
			return err
		}
		if name == "/dev/null" {
			return &InvalidError{"the patch creates or deletes a file (/dev/null); it may only change one"}
		}
		if stripPrefix(name) != relpath {
			return &InvalidError{fmt.Sprintf("the line %q is about %q, but the patch's own name is about %q", header, stripPrefix(name), relpath)}
		}
	}
	return nil
}

// namedBy returns the path in the one line that begins with header. What follows a space in that line is
// no part of the path, even where git would take it for one.
func headerPath(header string, text []byte) (string, error) {
	found, name := 0, ""
	for line := range bytes.Lines(text) {
		if rest, ok := strings.CutPrefix(string(line), header); ok {
			found++
			if fields := strings.Fields(rest); len(fields) > 0 {
				name = fields[0]
			}
		}
	}
	if found != 1 {
		return "", &InvalidError{fmt.Sprintf("%d lines begin with %q; a patch has one, for one file", found, header)}
	}
	return name, nil
}

func stripPrefix(name string) string {
	if rest, ok := strings.CutPrefix(name, "a/"); ok {
		return rest
	}
	return strings.TrimPrefix(name, "b/")
}

var errNoHunks = errors.New("no hunk (@@ -… +… @@) follows the lines --- and +++")
