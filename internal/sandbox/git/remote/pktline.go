package remote

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/internal/hosterror"
)

// maxPacket is the maximum length of a packet including its header (https://git-scm.com/docs/gitprotocol-common).
const maxPacket = 65520

// Kinds of packets. Special packets have no content; contentPacket is the kind of all other packets.
const (
	contentPacket = -1
	packetFlush   = 0
	packetDelim   = 1
)

// packetReader parses the packets that a server sends.
type packetReader struct {
	r    *bufio.Reader
	data [maxPacket]byte
}

func newPacketReader(r io.Reader) *packetReader { return &packetReader{r: bufio.NewReader(r)} }

// next returns the content and the kind of the next packet. The content is valid until the next call. An error packet of the server is
// returned as an error.
func (p *packetReader) next() (data []byte, kind int, err error) {
	if _, err := io.ReadFull(p.r, p.data[:4]); err != nil {
		return nil, 0, explainEOF(err)
	}
	size, err := strconv.ParseUint(string(p.data[:4]), 16, 16)
	switch {
	case err != nil || size == 3 || size > maxPacket:
		return nil, 0, fmt.Errorf("the remote does not speak git's protocol: it sent a packet with the length %q", p.data[:4])
	case size < 3:
		return nil, int(size), nil
	}
	data = p.data[:size-4]
	if _, err := io.ReadFull(p.r, data); err != nil {
		return nil, 0, explainEOF(err)
	}
	if message, ok := bytes.CutPrefix(data, []byte("ERR ")); ok {
		return nil, 0, serverError(message)
	}
	return data, contentPacket, nil
}

// line returns the content of the next packet as a string. ok is false for a special packet.
func (p *packetReader) line() (text string, ok bool, err error) {
	data, kind, err := p.next()
	if err != nil || kind != contentPacket {
		return "", false, err
	}
	return strings.TrimSuffix(string(data), "\n"), true, nil
}

func explainEOF(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the remote's response is truncated")
	}
	return err
}

// serverError returns an error that quotes a message of the server. The message is untrusted.
func serverError(message []byte) error {
	return fmt.Errorf("the remote says %q", hosterror.Truncate(strings.TrimSpace(string(message))))
}

// packetWriter encodes a request as packets.
type packetWriter struct{ bytes.Buffer }

func (w *packetWriter) linef(format string, args ...any) {
	text := fmt.Sprintf(format, args...) + "\n"
	fmt.Fprintf(w, "%04x%s", len(text)+4, text)
}

func (w *packetWriter) special(kind int) { fmt.Fprintf(w, "%04x", kind) }

// sideband reads the data of band 1. It drops progress messages (band 2), and returns an error message (band 3) as an error.
type sideband struct {
	packets *packetReader
	rest    []byte
	ended   bool
}

func (b *sideband) Read(to []byte) (int, error) {
	for len(b.rest) == 0 {
		if b.ended {
			return 0, io.EOF
		}
		data, kind, err := b.packets.next()
		switch {
		case err != nil:
			return 0, err
		case kind != contentPacket:
			b.ended = true
		case len(data) == 0:
		case data[0] == 1:
			b.rest = data[1:]
		case data[0] == 3:
			return 0, serverError(data[1:])
		}
	}
	n := copy(to, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}
