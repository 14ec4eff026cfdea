// Package jsonvalue decodes JSON values without loss, and compares them for tests of plugins: Equal and Contains name the first
// place at which two differ.
package jsonvalue

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
)

// maxShown bounds a value in a difference, in bytes.
const maxShown = 200

// Decode decodes one JSON value. It decodes numbers as json.Number, which keeps their digits.
func Decode(text []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("text follows the JSON value, which must be the only one, before byte %d", d.InputOffset())
	}
	return v, nil
}

// Equal describes the first difference between two values that Decode returned; it is empty if they are equal. The order of members and
// the notation of numbers do not matter.
func Equal(got, want any) string { return compare("", got, want, true) }

// Contains is like Equal, but the objects of got may have further members.
func Contains(got, want any) string { return compare("", got, want, false) }

func compare(path string, got, want any, exact bool) string {
	switch want := want.(type) {
	case map[string]any:
		object, ok := got.(map[string]any)
		if !ok {
			return is(path, got, want)
		}
		return compareObjects(path, object, want, exact)
	case []any:
		array, ok := got.([]any)
		if !ok {
			return is(path, got, want)
		}
		for i := range min(len(array), len(want)) {
			if difference := compare(path+"/"+strconv.Itoa(i), array[i], want[i], exact); difference != "" {
				return difference
			}
		}
		if len(array) != len(want) {
			return fmt.Sprintf("%s has %d items, want %d: %s", place(path), len(array), len(want), Show(array))
		}
		return ""
	case json.Number:
		if number, ok := got.(json.Number); ok && equalNumbers(string(number), string(want)) {
			return ""
		}
		return is(path, got, want)
	}
	switch got.(type) {
	case map[string]any, []any: // not comparable with ==
		return is(path, got, want)
	}
	if got != want {
		return is(path, got, want)
	}
	return ""
}

func compareObjects(path string, got, want map[string]any, exact bool) string {
	for _, key := range slices.Sorted(maps.Keys(want)) {
		member, ok := got[key]
		at := path + "/" + escaper.Replace(key)
		if !ok {
			return fmt.Sprintf("%s is missing, want %s", place(at), Show(want[key]))
		}
		if difference := compare(at, member, want[key], exact); difference != "" {
			return difference
		}
	}
	if !exact {
		return ""
	}
	for _, key := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[key]; !ok {
			return fmt.Sprintf("%s is %s, which is not expected", place(path+"/"+escaper.Replace(key)), Show(got[key]))
		}
	}
	return ""
}

// escaper escapes a key for a JSON Pointer.
var escaper = strings.NewReplacer("~", "~0", "/", "~1")

// equalNumbers compares integers exactly, and other numbers as float64, because most programs decode them so.
func equalNumbers(a, b string) bool {
	if a == b {
		return true
	}
	if !strings.ContainsAny(a+b, ".eE") {
		x, okX := new(big.Int).SetString(a, 10)
		y, okY := new(big.Int).SetString(b, 10)
		return okX && okY && x.Cmp(y) == 0
	}
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	return errX == nil && errY == nil && x == y
}

func is(path string, got, want any) string {
	return fmt.Sprintf("%s is %s, want %s", place(path), Show(got), Show(want))
}

// place names a value by its JSON Pointer.
func place(path string) string {
	if path == "" {
		return "the value"
	}
	return path
}

// Show returns a decoded value as JSON, truncated.
func Show(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return visible.Truncate(string(text), maxShown)
}
