// Package revocation reads and writes lists of plugins that must not be served any more. A list is a signed TOML file;
// it names plugins by digests, so that it applies wherever a plugin comes from. Start with Parse. Who may sign a list, and which of
// several is in force, is decided by package discovery.
package revocation

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

// List is a list of revoked plugins.
type List struct {
	Serial  int64     // grows with every version of the list
	Expires time.Time // when a newer version is due. The list stays in force after it
	Revoked []Revoked

	reasons map[string]string // by digest
}

// Revoked is an entry of a list.
type Revoked struct {
	SHA256 string // digest of the plugin.toml, or of the module that it names
	Plugin string // name and version, for people; may be empty
	Reason string // one line of visible characters
}

// Bounds of a list.
const (
	MaxRevoked = 5000
	MaxReason  = 300 // bytes of a reason; a longer one is truncated
	maxSerial  = 1 << 53
)

const fileName = "revocations"

// Parse parses a list. file names it in problems.
func Parse(file string, data []byte) (*List, error) {
	doc, problems := tomlfile.Parse(file, data)
	if doc == nil {
		return nil, problems.Err()
	}
	root := doc.Root()
	if v, ok := root.Int(fileName); !ok || v != 1 {
		root.Fault(fileName, "is not 1, so that this is no list of revoked plugins that this version of bulkhead can read", "write revocations = 1")
	}
	l := &List{reasons: map[string]string{}}
	var ok bool
	if l.Serial, ok = root.Int("serial"); !ok || l.Serial < 1 || l.Serial > maxSerial {
		root.Fault("serial", "is missing or less than 1", "write a number that grows with every version of the list")
	}
	if text := root.Required("expires", expiresRemedy); text != "" {
		var err error
		if l.Expires, err = ParseExpires(text); err != nil {
			root.Fault("expires", err.Error(), expiresRemedy)
		}
	}
	tables := root.Tables("revoked")
	if len(tables) > MaxRevoked {
		root.Fault("revoked", fmt.Sprintf("has more than %d entries", MaxRevoked), "remove those that are installed nowhere any more")
		tables = nil
	}
	for _, t := range tables {
		r := Revoked{SHA256: manifest.ReadDigest(t, "sha256"), Plugin: shown(t.String("plugin")), Reason: shown(t.Required("reason", "say why the plugin is revoked"))}
		switch _, duplicate := l.reasons[r.SHA256]; {
		case !t.Has("sha256"):
			t.Fault("sha256", "is missing", "write the digest of the plugin.toml, or of the module")
		case duplicate && r.SHA256 != "":
			t.Fault("sha256", "is a duplicate", "remove one of the entries")
		}
		l.reasons[r.SHA256] = r.Reason
		l.Revoked = append(l.Revoked, r)
	}
	if err := doc.Problems().Err(); err != nil {
		return nil, err
	}
	return l, nil
}

const expiresRemedy = `write the last day of its validity, such as "2027-01-31"`

// ParseExpires returns the end of the day, in UTC.
func ParseExpires(day string) (time.Time, error) {
	at, err := time.Parse(time.DateOnly, day)
	if err != nil {
		return time.Time{}, errors.New("is not a day of the form YYYY-MM-DD")
	}
	return at.AddDate(0, 0, 1), nil
}

// shown returns a string of a list as terminals and models show it: the holder of the key is not trusted with more than revocations.
func shown(text string) string { return visible.Truncate(visible.Line(text), MaxReason) }

// Serial returns the serial number of the list with that content.
func Serial(content []byte) (int64, error) {
	l, err := Parse(fileName, content)
	if err != nil {
		return 0, err
	}
	return l.Serial, nil
}

// LastDay returns the last day of validity.
func (l *List) LastDay() string { return l.Expires.AddDate(0, 0, -1).Format(time.DateOnly) }

// Reason returns why one of the digests is revoked, and whether one is.
func (l *List) Reason(digests ...string) (reason string, revoked bool) {
	for _, digest := range digests {
		if reason, revoked := l.reasons[digest]; revoked && digest != "" {
			return reason, true
		}
	}
	return "", false
}

// With returns the list with an entry added, or replaced if the digest has one.
func (l *List) With(r Revoked) *List {
	next := &List{Serial: l.Serial, Expires: l.Expires}
	next.Revoked = slices.DeleteFunc(slices.Clone(l.Revoked), func(have Revoked) bool { return have.SHA256 == r.SHA256 })
	next.Revoked = append(next.Revoked, r)
	return next
}

// Encode returns the list as a file.
func (l *List) Encode() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Plugins that must not be served any more: docs/admin.md of bulkhead.\n%s = 1\nserial = %d\nexpires = %q\n", fileName, l.Serial, l.LastDay())
	for _, r := range l.Revoked {
		fmt.Fprintf(&b, "\n[[revoked]]\nsha256 = %q\n", r.SHA256)
		if r.Plugin != "" {
			fmt.Fprintf(&b, "plugin = %s\n", tomlfile.Text(r.Plugin))
		}
		fmt.Fprintf(&b, "reason = %s\n", tomlfile.Text(r.Reason))
	}
	return b.Bytes()
}
