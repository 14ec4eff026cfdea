package forward

import (
	"bytes"
	"errors"
	"net"
	"os"
	"time"
)

// sendTimeout bounds how long a daemon may leave a datagram waiting. Meanwhile records wait in the queue of the copy.
const sendTimeout = 5 * time.Second

// datagrams sends each line as a datagram to a Unix socket.
type datagrams struct {
	path   string
	encode func(b, line []byte) []byte                  // appends the datagram of a line to b
	large  func(to *net.UnixConn, content []byte) error // sends what is too long for a datagram; nil: it cannot be sent

	conn *net.UnixConn // nil after a failure
	b    []byte        // reused
}

// dial connects to a socket.
func dial(path string, encode func(b, line []byte) []byte, large func(*net.UnixConn, []byte) error) (*datagrams, error) {
	d := &datagrams{path: path, encode: encode, large: large}
	return d, d.connect()
}

func (d *datagrams) connect() error {
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: d.path, Net: "unixgram"})
	if err == nil {
		d.conn = conn
	}
	return err
}

// Append implements audit.Appender.
func (d *datagrams) Append(lines []byte) (int, error) {
	done := 0
	for line := range bytes.Lines(lines) {
		d.b = d.encode(d.b[:0], bytes.TrimSuffix(line, []byte{'\n'}))
		if err := d.send(); err != nil {
			return done, err
		}
		done += len(line)
	}
	return done, nil
}

// send sends d.b. A daemon that was started again has a new socket, so a failure other than a timeout connects once more.
func (d *datagrams) send() error {
	if d.conn != nil {
		err := d.write()
		if err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			return err
		}
		_ = d.Close()
	}
	if err := d.connect(); err != nil {
		return err
	}
	return d.write()
}

func (d *datagrams) write() error {
	if err := d.conn.SetWriteDeadline(time.Now().Add(sendTimeout)); err != nil {
		return err
	}
	_, err := d.conn.Write(d.b)
	if d.large != nil && isTooLong(err) {
		return d.large(d.conn, d.b)
	}
	return err
}

// Close implements audit.Appender.
func (d *datagrams) Close() error {
	if d.conn == nil {
		return nil
	}
	err := d.conn.Close()
	d.conn = nil
	return err
}

// wholeLines returns the length of the whole lines at the start of b.
func wholeLines(b []byte) int { return bytes.LastIndexByte(b, '\n') + 1 }
