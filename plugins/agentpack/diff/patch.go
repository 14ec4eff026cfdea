// Package diff creates unified diffs (Unified) and applies them (Apply). Both work on bytes in memory.
//
// Apply has the semantics of "git apply --whitespace=nowarn", all hunks or nothing, for a patch of one file:
// context must match byte for byte; a hunk may match at another line, searched outward from the stated one;
// but a hunk that starts at line 0 or 1, or has no trailing context, must match at the start or the end of
// the file.
package diff

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// MaxSize is the size limit of a patch, and of the file that it is applied to, in bytes.
const MaxSize = 8 << 20

// InvalidError means that a patch cannot be used, whatever the file contains.
type InvalidError struct{ Reason string }

// Error implements error.
func (e *InvalidError) Error() string { return e.Reason }

// ApplyError means that a valid patch does not apply to the file.
type ApplyError struct{ Stderr string }

// Error implements error.
func (e *ApplyError) Error() string { return e.Stderr }

// Apply returns base with the patch text applied. The patch must be of the file relpath (with slashes). The
// error is an *InvalidError or an *ApplyError.
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

// check validates everything but the hunks.
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
			return &InvalidError{fmt.Sprintf("the line %q names %q, but the patch is named after %q", header, stripPrefix(name), relpath)}
		}
	}
	return nil
}

// headerPath returns the path in the only line that begins with header. A path ends at the first space,
// unlike in git.
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
		return "", &InvalidError{fmt.Sprintf("%d lines begin with %q; a patch of one file has one", found, header)}
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
