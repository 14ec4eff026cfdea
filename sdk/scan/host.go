package scan

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/internal/imports"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// fromHost calls visit with the entries that the host returns, in the order of Dir. The entries follow the path after.
func fromHost(dir string, o Options, after string, visit func(Entry) error) error {
	q := abi.Scan{
		Path: dir, Depth: o.Depth, Match: o.Match, Skip: o.Skip, Follow: o.Follow, Data: o.Data, Function: o.Function,
		MaxFile: o.MaxFile, Max: o.Max, After: after,
	}
	for {
		answer, err := request(q)
		if err != nil {
			return err
		}
		if o.Strict && answer[1]&abi.ScanOmits != 0 {
			return ErrName
		}
		last, err := decode(answer, visit)
		if err != nil {
			return err
		}
		if answer[1]&abi.ScanMore == 0 {
			return nil
		}
		if last == "" || last == q.After {
			return errMalformed
		}
		q.After = last
	}
}

func request(q abi.Scan) ([]byte, error) {
	params, err := rawjson.Marshal(q)
	if err != nil {
		return nil, err
	}
	text, err := rawjson.Marshal(abi.HostRequest{Op: abi.OpFSScan, Params: params})
	if err != nil {
		return nil, err
	}
	answer := imports.HostCall(text)
	if len(answer) >= abi.ScanHeader && answer[0] == abi.ScanVersion {
		return answer, nil
	}
	var response abi.HostResponse
	if err := json.Unmarshal(answer, &response); err != nil || response.Error == nil {
		return nil, errMalformed
	}
	return nil, fmt.Errorf("%s: %w", abi.OpFSScan, response.Error)
}

var errMalformed = errors.New(abi.OpFSScan + ": the host's answer is malformed")

// decode passes the entries of an answer to visit. It returns the path of the last entry.
func decode(answer []byte, visit func(Entry) error) (last string, err error) {
	rest := answer[abi.ScanHeader:]
	for range binary.LittleEndian.Uint32(answer[4:]) {
		if len(rest) < abi.ScanEntry {
			return "", errMalformed
		}
		size, name := binary.LittleEndian.Uint32(rest), int(binary.LittleEndian.Uint16(rest[4:]))
		kind := rest[6]
		e := Entry{
			Type: typeOf(kind), Linked: kind&abi.ScanLinked != 0, State: State(rest[7]),
			Size: int64(binary.LittleEndian.Uint64(rest[8:])), ModTime: time.Unix(0, int64(binary.LittleEndian.Uint64(rest[16:]))),
		}
		if rest = rest[abi.ScanEntry:]; len(rest) < name {
			return "", errMalformed
		}
		e.Path, rest = string(rest[:name]), rest[name:]
		if size != abi.ScanNone {
			if uint64(len(rest)) < uint64(size) {
				return "", errMalformed
			}
			e.Data, rest = rest[:size:size], rest[size:]
		}
		if err := visit(e); err != nil {
			return "", err
		}
		last = e.Path
	}
	return last, nil
}

func typeOf(kind byte) fs.FileMode {
	switch kind &^ abi.ScanLinked {
	case abi.ScanRegular:
		return 0
	case abi.ScanDirectory:
		return fs.ModeDir
	case abi.ScanLink:
		return fs.ModeSymlink
	}
	return fs.ModeIrregular
}
