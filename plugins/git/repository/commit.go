package repository

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/text/encoding/unicode"
)

// Commit is a commit. Its strings are valid UTF-8: as in the server that this plugin replaces, the header encoding does not matter.
type Commit struct {
	Hash, Tree string
	Parents    []string
	Name       string // name of the author
	Email      string // address of the author
	Authored   time.Time
	Message    string
}

// ParseCommit parses the content of a commit.
func ParseCommit(hash string, content []byte) (Commit, error) {
	c := Commit{Hash: hash}
	head, message, _ := bytes.Cut(content, []byte("\n\n"))
	author := ""
	for line := range strings.Lines(string(head)) {
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch {
		case key == "tree":
			c.Tree = value
		case key == "parent":
			c.Parents = append(c.Parents, value)
		case key == "author" && author == "":
			author = value
		}
	}
	if c.Tree == "" || author == "" {
		return c, fmt.Errorf("the commit %s is damaged: it has no tree or no author", hash)
	}
	c.Message = ToUTF8(message)
	var err error
	if c.Name, c.Email, c.Authored, err = parseSignature(ToUTF8([]byte(author))); err != nil {
		err = fmt.Errorf("the commit %s is damaged: %w", hash, err)
	}
	return c, err
}

// parseSignature parses `NAME <MAIL> SECONDS ZONE`.
func parseSignature(text string) (name, email string, when time.Time, err error) {
	bad := errors.New("its author has no date")
	end := strings.LastIndexByte(text, '>')
	start := strings.IndexByte(text, '<')
	if start < 0 || end < start {
		return "", "", when, bad
	}
	name, email = strings.TrimRight(text[:start], " "), text[start+1:end]
	seconds, zone, _ := strings.Cut(strings.TrimSpace(text[end+1:]), " ")
	unix, err := strconv.ParseInt(seconds, 10, 64)
	offset, bad2 := strconv.Atoi(zone)
	if err != nil || bad2 != nil || unix > 253402300799 {
		return "", "", when, bad
	}
	minutes := offset/100*60 + offset%100
	return name, email, time.Unix(unix, 0).In(time.FixedZone("", minutes*60)), nil
}

// ToUTF8 replaces each invalid sequence with U+FFFD: as the Unicode standard recommends, one for each longest prefix of a character.
func ToUTF8(text []byte) string {
	if !utf8.Valid(text) {
		text, _ = unicode.UTF8.NewDecoder().Bytes(text) // the decoder replaces what is invalid, and does not fail
	}
	return string(text)
}
