package token

import (
	"cmp"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"
)

const (
	usedName = "confirm-used.json"
	// maxUsed is the maximum number of tokens in the list of used tokens. If there are more, the Store drops those that
	// expire first, and sets Floor, which makes all tokens invalid that expire no later than the dropped ones.
	maxUsed     = 1000
	maxUsedSize = 1 << 20 // the maximum size of the file with the list, in bytes
	usedVersion = 1
)

// used lists the used tokens that have not expired.
type used struct {
	Version int `json:"version"`
	// Floor is a time in milliseconds since the Unix epoch. Tokens that expire at Floor or earlier are invalid. Floor
	// never decreases, so that a dropped token stays invalid when the clock is set back.
	Floor  int64       `json:"floor"`
	Tokens []usedToken `json:"tokens"`
}

type usedToken struct {
	ID      string `json:"id"` // the id of the token, in hexadecimal
	Expires int64  `json:"expires"`
}

func (u *used) has(id [idSize]byte) bool {
	text := hex.EncodeToString(id[:])
	return slices.ContainsFunc(u.Tokens, func(t usedToken) bool { return t.ID == text })
}

// add adds a token to the list, and drops expired tokens.
func (u *used) add(claim Claim, now time.Time) {
	u.Tokens = append(u.Tokens, usedToken{hex.EncodeToString(claim.id[:]), claim.expires})
	slices.SortStableFunc(u.Tokens, func(a, b usedToken) int { return cmp.Compare(a.Expires, b.Expires) })
	for len(u.Tokens) > 0 && (u.Tokens[0].Expires <= now.UnixMilli() || len(u.Tokens) > maxUsed) {
		u.Floor = max(u.Floor, u.Tokens[0].Expires)
		u.Tokens = u.Tokens[1:]
	}
}

// Use records a token as used, so that Check refuses the token from then on.
func (s Store) Use(claim Claim, now time.Time) error {
	file, _, after, err := s.Used(claim, now)
	if err != nil {
		return err
	}
	return s.write(file, after)
}

// Used returns the change that Use would make, for callers that make the change in a transaction of their own: the path
// of the file, its current content (nil if the file does not exist) and its new content.
func (s Store) Used(claim Claim, now time.Time) (file string, before, after []byte, err error) {
	list, before, err := s.readUsed()
	if err != nil {
		return "", nil, nil, err
	}
	list.add(claim, now)
	after, err = json.Marshal(list)
	return s.usedFile(), before, after, err
}

func (s Store) usedFile() string { return filepath.Join(s.Dir, usedName) }

// readUsed returns the list of used tokens and the content of its file. If the list cannot be read, readUsed returns an
// error and the Store refuses every token, because any token could be a used one.
func (s Store) readUsed() (list *used, raw []byte, err error) {
	raw, err = readBounded(s.usedFile(), maxUsedSize)
	if errors.Is(err, fs.ErrNotExist) {
		return &used{Version: usedVersion}, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("cannot read the list of used confirm tokens: %w", err)
	}
	list, err = parseUsed(raw)
	if err != nil {
		return nil, nil, fmt.Errorf("the list of used confirm tokens, %s, is invalid: %w; remove the list together with %s, and call deploy again", s.usedFile(), err, keyName)
	}
	return list, raw, nil
}

func parseUsed(raw []byte) (*used, error) {
	var list used
	switch err := json.Unmarshal(raw, &list); {
	case len(raw) > maxUsedSize:
		return nil, fmt.Errorf("larger than %d bytes", maxUsedSize)
	case err != nil:
		return nil, err
	case list.Version != usedVersion:
		return nil, fmt.Errorf("version %d is not supported", list.Version)
	}
	return &list, nil
}
