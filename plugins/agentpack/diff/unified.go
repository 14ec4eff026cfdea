package diff

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"
)

// maxDiff is the size limit of a diff that is shown, in bytes.
const maxDiff = 100 << 10

// Unified returns the diff from before to after, which must be UTF-8. Name is the file's path, with slashes.
func Unified(name string, before, after []byte) (string, error) {
	if !utf8.Valid(before) || !utf8.Valid(after) {
		return "", errors.New("it is not UTF-8 text")
	}
	old := string(before)
	diff, err := udiff.ToUnified("a/"+name, "b/"+name, old, udiff.Lines(old, string(after)), udiff.DefaultContextLines)
	if err != nil {
		return "", err
	}
	if len(diff) > maxDiff {
		return "", fmt.Errorf("the diff is larger than %d bytes", maxDiff)
	}
	return diff, nil
}
