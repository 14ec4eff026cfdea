// Package diff creates unified diffs (Unified) and applies them (Apply). Both functions work on bytes in memory.
//
// Apply treats a patch of one file as "git apply --whitespace=nowarn" does. It applies either all hunks or none.
// Context must match byte for byte. A hunk may match at another line than the stated one; of several matches, the
// nearest is used. A hunk that starts at line 0 or 1 must match at the start of the file, and a hunk without trailing
// context must match at the end of the file.
package diff

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// MaxSize is the maximum size in bytes of a patch, and of the file to which a patch is applied.
const MaxSize = 8 << 20

// InvalidError means that a patch is malformed or unsupported, whatever the content of the file is.
type InvalidError struct{ Reason string }

// Error implements error.
func (e *InvalidError) Error() string { return e.Reason }

// ApplyError means that a valid patch does not match the content of the file.
type ApplyError struct{ Stderr string }

// Error implements error.
func (e *ApplyError) Error() string { return e.Stderr }

// Apply returns base with the patch in text applied. The patch must name the file relpath, a path with slashes. The
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

// check returns an error unless the sizes, the encoding and the file names of base and patch are valid.
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

// headerPath returns the path in the only line of text that begins with header. Unlike in git, the path ends at the
// first space.
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
