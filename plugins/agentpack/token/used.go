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
	// maxUsed bounds the list. With more in it than that, the oldest are forgotten, and Floor keeps what is
	// as old from being used.
	maxUsed     = 1000
	maxUsedSize = 1 << 20 // bytes of the file
	usedVersion = 1
)

// used is the list of tokens that were used and would otherwise still be good.
type used struct {
	Version int `json:"version"`
	// Floor: no token that ends at this time or before is good any more, in milliseconds since the Unix
	// epoch. It only grows, so that a clock that is set back brings no forgotten token to life.
	Floor  int64       `json:"floor"`
	Tokens []usedToken `json:"tokens"`
}

type usedToken struct {
	ID      string `json:"id"` // hexadecimal
	Expires int64  `json:"expires"`
}

func (u *used) has(id [idSize]byte) bool {
	text := hex.EncodeToString(id[:])
	return slices.ContainsFunc(u.Tokens, func(t usedToken) bool { return t.ID == text })
}

// add notes a token, and forgets those that are over.
func (u *used) add(claim Claim, now time.Time) {
	u.Tokens = append(u.Tokens, usedToken{hex.EncodeToString(claim.id[:]), claim.expires})
	slices.SortStableFunc(u.Tokens, func(a, b usedToken) int { return cmp.Compare(a.Expires, b.Expires) })
	for len(u.Tokens) > 0 && (u.Tokens[0].Expires <= now.UnixMilli() || len(u.Tokens) > maxUsed) {
		u.Floor = max(u.Floor, u.Tokens[0].Expires)
		u.Tokens = u.Tokens[1:]
	}
}

// Use notes that what a token stands for was done: from now on it is refused. Call it only then; a token
// whose deploy_apply was refused stays good.
func (s Store) Use(claim Claim, now time.Time) error {
	file, _, after, err := s.Used(claim, now)
	if err != nil {
		return err
	}
	return s.write(file, after)
}

// Used is what Use would do, for whoever does it together with what the token stands for: the file, its content,
// which is nil if it is not there, and what it is to be.
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

// readUsed returns the list, and the text that it is read from. One that cannot be read refuses every token: which
// were used nobody knows.
func (s Store) readUsed() (list *used, raw []byte, err error) {
	raw, err = readBounded(s.usedFile(), maxUsedSize)
	if errors.Is(err, fs.ErrNotExist) {
		return &used{Version: usedVersion}, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("the list of used confirm tokens: %w", err)
	}
	list, err = parseUsed(raw)
	if err != nil {
		return nil, nil, fmt.Errorf("the list of used confirm tokens, %s: %w: remove it together with %s, and call deploy again", s.usedFile(), err, keyName)
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
		return nil, fmt.Errorf("its version is %d, which this program does not know", list.Version)
	}
	return &list, nil
}
