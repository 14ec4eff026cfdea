package disk

import (
	"fmt"
	"os"
	"path"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/filesystem/text"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// Read returns the text of a file: all of it, or the first or last lines if head or tail is not 0.
func (d Disk) Read(requested string, head, tail float64) (string, error) {
	at, err := d.resolve(requested)
	switch {
	case err != nil:
		return "", err
	case head != 0 && tail != 0:
		return "", errHeadAndTail
	case head == 0 && tail == 0:
		raw, err := filesystem.ReadFile(filesystem.OS{}, at, MaxFile)
		return text.Decode(raw), readFailure(err, at)
	}
	info, err := os.Stat(at)
	if err == nil && !info.Mode().IsRegular() {
		err = filesystem.ErrNotRegular
	}
	if err != nil {
		op := "open"
		if tail != 0 {
			op = "stat"
		}
		if filesystem.IsAbsent(err) {
			return "", failure(err, op, at)
		}
		return "", readFailure(err, at)
	}
	file, err := os.Open(at)
	if err != nil {
		return "", readFailure(err, at)
	}
	defer file.Close()
	var lines string
	if head != 0 {
		lines, err = text.Head(file, head)
	} else {
		lines, err = text.Tail(file, info.Size(), tail)
	}
	return lines, failure(err, "read")
}

// ReadAll returns the texts of several files. The error of a file is in its place.
func (d Disk) ReadAll(requested []string) string {
	var all []string
	for _, one := range requested {
		content, err := d.Read(one, 0, 0)
		if err != nil {
			all = append(all, one+": Error - "+err.Error())
			continue
		}
		all = append(all, one+":\n"+content+"\n")
	}
	return strings.Join(all, "\n---\n")
}

// Media is the content of a file.
type Media struct {
	Type string // the MIME type
	URI  string
	Raw  []byte
}

var mediaTypes = map[string]string{
	".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp", ".bmp": "image/bmp",
	".svg": "image/svg+xml", ".mp3": "audio/mpeg", ".wav": "audio/wav", ".ogg": "audio/ogg", ".flac": "audio/flac",
}

// Media returns the bytes of a file, with the MIME type that its name stands for.
func (d Disk) Media(requested string) (Media, error) {
	at, err := d.resolve(requested)
	if err != nil {
		return Media{}, err
	}
	raw, err := filesystem.ReadFile(filesystem.OS{}, at, MaxFile)
	kind := mediaTypes[strings.ToLower(path.Ext(at))]
	if kind == "" {
		kind = "application/octet-stream"
	}
	return Media{kind, fileURL(at), raw}, readFailure(err, at)
}

// fileURL returns the URL of a path as pathToFileURL does, which leaves more characters as they are than package url.
func fileURL(at string) string {
	out := []byte("file://")
	for i := range len(at) {
		c := at[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("/!$&'()*+,-.:;=@_", c) >= 0 {
			out = append(out, c)
		} else {
			out = fmt.Appendf(out, "%%%02X", c)
		}
	}
	return string(out)
}
