package forward

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
)

// encodeSyslog appends the message of a line in the local form of syslog, without the name of the host, which rsyslog, syslog-ng, busybox and
// journald parse on /dev/log; they do not all parse RFC 5424 there. A line of the log contains no control characters, so it is one message.
func encodeSyslog(b, line []byte) []byte {
	var e audit.Entry
	_ = json.Unmarshal(line, &e) // package audit has encoded it
	b = fmt.Appendf(b, "<%d>%s %s[%d]: ", facilityAuthPriv<<3|severity(&e), time.Now().Format(time.Stamp), identifier, os.Getpid())
	return append(b, line...)
}
