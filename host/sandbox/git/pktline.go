package git

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// maxPacket is the length of a packet with its header (https://git-scm.com/docs/gitprotocol-common).
const maxPacket = 65520

// Packets that carry nothing.
const (
	packetFlush = 0
	packetDelim = 1
	packetEnd   = 2
)

// packets reads what a server sends.
type packets struct {
	r    *bufio.Reader
	data [maxPacket]byte
}

func newPackets(r io.Reader) *packets { return &packets{r: bufio.NewReader(r)} }

// next gives a packet's content, until the next one is read; nil and which it is of a packet that carries
// nothing. A server's own error message is an error.
func (p *packets) next() (data []byte, special int, err error) {
	if _, err := io.ReadFull(p.r, p.data[:4]); err != nil {
		return nil, 0, cutShort(err)
	}
	size, err := strconv.ParseUint(string(p.data[:4]), 16, 16)
	switch {
	case err != nil || size == 3 || size > maxPacket:
		return nil, 0, fmt.Errorf("the remote does not speak git's protocol: a packet of length %q", p.data[:4])
	case size < 3:
		return nil, int(size), nil
	}
	data = p.data[:size-4]
	if _, err := io.ReadFull(p.r, data); err != nil {
		return nil, 0, cutShort(err)
	}
	if message, ok := bytes.CutPrefix(data, []byte("ERR ")); ok {
		return nil, 0, remoteSays(message)
	}
	return data, -1, nil
}

// line gives the text of a packet; ok is false for one that carries nothing.
func (p *packets) line() (text string, ok bool, err error) {
	data, special, err := p.next()
	if err != nil || special >= 0 {
		return "", false, err
	}
	return strings.TrimSuffix(string(data), "\n"), true, nil
}

func cutShort(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the remote's answer ends too early")
	}
	return err
}

// remoteSays quotes a server's words.
func remoteSays(message []byte) error {
	return fmt.Errorf("the remote says %q", shorten(strings.TrimSpace(string(message))))
}

// packetWriter puts a request together.
type packetWriter struct{ bytes.Buffer }

func (w *packetWriter) linef(format string, args ...any) {
	text := fmt.Sprintf(format, args...) + "\n"
	fmt.Fprintf(w, "%04x%s", len(text)+4, text)
}

func (w *packetWriter) special(which int) { fmt.Fprintf(w, "%04x", which) }

// bands is what a server sends beside its progress: the bytes of band 1.
type bands struct {
	packets *packets
	rest    []byte
	ended   bool
}

func (b *bands) Read(to []byte) (int, error) {
	for len(b.rest) == 0 {
		if b.ended {
			return 0, io.EOF
		}
		data, special, err := b.packets.next()
		switch {
		case err != nil:
			return 0, err
		case special >= 0:
			b.ended = true
		case len(data) == 0:
		case data[0] == 1:
			b.rest = data[1:]
		case data[0] == 3:
			return 0, remoteSays(data[1:])
		}
	}
	n := copy(to, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}
