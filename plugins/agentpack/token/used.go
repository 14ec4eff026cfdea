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
	// maxUsed is the size limit of the list. Beyond it the oldest tokens are dropped, and Floor keeps tokens
	// of their age invalid.
	maxUsed     = 1000
	maxUsedSize = 1 << 20 // size limit of the file, in bytes
	usedVersion = 1
)

// used lists the used tokens that have not expired.
type used struct {
	Version int `json:"version"`
	// Floor: tokens that expire at this time or earlier are invalid, in milliseconds since the Unix epoch. It
	// only grows, so that a clock that is set back revives no dropped token.
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

// add adds a token, and drops expired ones.
func (u *used) add(claim Claim, now time.Time) {
	u.Tokens = append(u.Tokens, usedToken{hex.EncodeToString(claim.id[:]), claim.expires})
	slices.SortStableFunc(u.Tokens, func(a, b usedToken) int { return cmp.Compare(a.Expires, b.Expires) })
	for len(u.Tokens) > 0 && (u.Tokens[0].Expires <= now.UnixMilli() || len(u.Tokens) > maxUsed) {
		u.Floor = max(u.Floor, u.Tokens[0].Expires)
		u.Tokens = u.Tokens[1:]
	}
}

// Use records a token as used, so that Check refuses it. A token whose deploy_apply was refused remains
// valid.
func (s Store) Use(claim Claim, now time.Time) error {
	file, _, after, err := s.Used(claim, now)
	if err != nil {
		return err
	}
	return s.write(file, after)
}

// Used returns the change that Use makes, for callers that write it in a transaction of their own: the file,
// its current content (nil if it does not exist), and its new one.
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

// readUsed returns the list, and its encoding. If it cannot be read, every token is refused, since any could
// have been used.
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
		return nil, fmt.Errorf("version %d is not supported", list.Version)
	}
	return &list, nil
}
