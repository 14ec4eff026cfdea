// Package diff creates unified diffs (Unified) and applies them (Apply). Both work on bytes in memory.
//
// Apply has the semantics of "git apply --whitespace=nowarn" for a patch of one file. It applies all hunks or none.
// Context must match byte for byte. A hunk may match at another line than the stated one; the nearest match counts. A
// hunk that starts at line 0 or 1 must match at the start of the file, and a hunk without trailing context at the end.
package diff

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// MaxSize is the size limit in bytes of a patch, and of the file that the patch is applied to.
const MaxSize = 8 << 20

// InvalidError means that a patch is malformed or unsupported, independent of the content of the file.
type InvalidError struct{ Reason string }

// Error implements error.
func (e *InvalidError) Error() string { return e.Reason }

// ApplyError means that a valid patch does not match the content of the file.
type ApplyError struct{ Stderr string }

// Error implements error.
func (e *ApplyError) Error() string { return e.Stderr }

// Apply returns base with the patch text applied. The patch must name the file relpath, which has slashes. The error
// is an *InvalidError or an *ApplyError.
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

// check validates the sizes, the encoding and the names of the files.
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
			return &InvalidError{"the patch creates or deletes a file (/dev/null); a patch may only change an existing file"}
		}
		if stripPrefix(name) != relpath {
			return &InvalidError{fmt.Sprintf("the line %q names the file %q, but the file name of the patch requires %q", header, stripPrefix(name), relpath)}
		}
	}
	return nil
}

// headerPath returns the path in the only line that begins with header. Unlike in git, the path ends at the first
// space.
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
		return "", &InvalidError{fmt.Sprintf("%d lines begin with %q; exactly one is required", found, header)}
	}
	return name, nil
}

func stripPrefix(name string) string {
	if rest, ok := strings.CutPrefix(name, "a/"); ok {
		return rest
	}
	return strings.TrimPrefix(name, "b/")
}

var errNoHunks = errors.New("the patch has no hunk (@@ -… +… @@) after its header")
