package bearer

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
)

// Named is a named token, without its secret. Several tokens can have one name.
type Named struct {
	ID      string     `json:"id"` // permanent: no other token gets it
	Name    string     `json:"name"`
	SHA256  string     `json:"sha256"` // digest of the whole token
	Created time.Time  `json:"created"`
	Expires *time.Time `json:"expires,omitempty"` // nil: it does not expire
}

// A named token is prefix, ID, "_" and a secret. The prefix lets scanners for leaked secrets find it, and the ID finds its record without a
// comparison of secrets.
const (
	prefix   = "bulkhead_"
	idLength = 16 // digits of base 32
	maxName  = 64
)

// CheckName returns an error if a named token cannot have the name.
func CheckName(name string) error {
	valid := name != "" && len(name) <= maxName && !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
	}) && !strings.HasPrefix(name, "-")
	if !valid {
		return fmt.Errorf("a name has 1 to %d letters, digits, - and _, and does not begin with -", maxName)
	}
	if name == call.BearerID || name == call.LocalID { // with which configs and commands name the single token, and clients without one
		return fmt.Errorf("%s is not the name of a token, but stands for the clients with the single token, or without one", name)
	}
	return nil
}

// newNamed makes a token. The secret is not kept.
func newNamed(name string, now time.Time, expires *time.Time) (token string, n Named) {
	n = Named{ID: strings.ToLower(rand.Text()[:idLength]), Name: name, Created: now.UTC().Truncate(time.Second), Expires: expires}
	token = prefix + n.ID + "_" + NewSecret()
	d := digestOf(token)
	n.SHA256 = hex.EncodeToString(d[:])
	return token, n
}

// idOf returns the ID that a token states; empty if it is not a named token.
func idOf(token string) string {
	rest, ok := strings.CutPrefix(token, prefix)
	if !ok || len(rest) <= idLength || rest[idLength] != '_' {
		return ""
	}
	return rest[:idLength]
}

// IsExpired reports whether the token is not valid any more.
func (n *Named) IsExpired(now time.Time) bool { return n.Expires != nil && !now.Before(*n.Expires) }

// PrincipalID returns the ID of the token's principal.
func (n *Named) PrincipalID() string { return "token:" + n.ID }

// principal returns on whose behalf requests with the token are made.
func (n *Named) principal() *call.Principal {
	return &call.Principal{ID: n.PrincipalID(), Name: n.Name}
}

// check returns an error if the record is not one that File has written.
func (n *Named) check() error {
	if err := CheckName(n.Name); err != nil {
		return fmt.Errorf("the name of a token is not valid: %w", err)
	}
	_, err := n.digest()
	if len(n.ID) != idLength || strings.Trim(n.ID, "abcdefghijklmnopqrstuvwxyz234567") != "" || err != nil {
		return fmt.Errorf("the ID or the digest of a token named %s is not valid", n.Name)
	}
	return nil
}

func (n *Named) digest() (d digest, err error) {
	b, err := hex.DecodeString(n.SHA256)
	if err == nil && len(b) != len(d) {
		err = hex.ErrLength
	}
	copy(d[:], b)
	return d, err
}
