// Package zone loads time zones of the IANA database, which is part of the module. Load refuses keys in the words of
// Python's zoneinfo, which the reference server uses.
package zone

import (
	"errors"
	"path"
	"strings"
	"time"
	_ "time/tzdata" // the zones of the Go release that compiles the module

	"github.com/bulkhead-mcp/bulkhead/sdk/python"
)

// Load returns the zone with a key, such as Europe/Paris. Keys are case-sensitive.
func Load(key string) (*time.Location, error) {
	clean := path.Clean(key)
	switch {
	case strings.HasPrefix(key, "/"):
		return nil, errors.New("ZoneInfo keys may not be absolute paths, got: " + key)
	case len(clean) != len(key):
		return nil, errors.New("ZoneInfo keys must be normalized relative paths, got: " + key)
	case clean == "." || clean == ".." || strings.HasPrefix(clean, "../"):
		return nil, errors.New("ZoneInfo keys must refer to subdirectories of TZPATH, got: " + key)
	case strings.Contains(key, "\x00"):
		return nil, errors.New("embedded null byte")
	}
	zone, err := time.LoadLocation(key)
	if err != nil || key == "Local" { // which only package time knows
		return nil, errors.New(python.Quote("No time zone found with key " + key))
	}
	return zone, nil
}
