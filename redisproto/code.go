package redisproto

import "bytes"

// Codes of error replies, as ErrorCode returns them.
const (
	CodeErr         = "ERR"
	CodeNoScript    = "NOSCRIPT"
	CodeReadOnly    = "READONLY"
	CodeLoading     = "LOADING"
	CodeNoAuth      = "NOAUTH"
	CodeWrongPass   = "WRONGPASS"
	CodeNoPerm      = "NOPERM"
	CodeMasterDown  = "MASTERDOWN"
	CodeClusterDown = "CLUSTERDOWN"
	CodeTryAgain    = "TRYAGAIN"
	CodeMoved       = "MOVED"
	CodeAsk         = "ASK"
	CodeCrossSlot   = "CROSSSLOT"
	CodeBusy        = "BUSY"
	CodeOOM         = "OOM"
	CodeMisconf     = "MISCONF"
	CodeNoReplicas  = "NOREPLICAS"
	CodeWrongType   = "WRONGTYPE"
	CodeExecAbort   = "EXECABORT"
	CodeUnblocked   = "UNBLOCKED"
	CodeDenied      = "DENIED"
	CodeUpstream    = "UPSTREAM" // Envoy's redis_proxy couldn't reach or understand its upstream
	CodeOther       = "OTHER"    // any code that isn't named here
)

// ErrorCode classifies an error reply by its first word. The result is one of
// the Code constants, so it is safe as the label of a metric; it is empty when
// v is no error. Nothing is allocated.
//
// Redis before 7 wraps what a script's commands fail with in an ERR of its own:
// the code inside is the one returned.
func (v Value) ErrorCode() string {
	if v.Kind != Error {
		return ""
	}
	code := firstWordCode(v.Str)
	if code == CodeErr && bytes.HasPrefix(v.Str, scriptFailed) {
		return codeInScriptError(v.Str)
	}
	return code
}

var (
	scriptFailed = []byte("ERR Error running script")
	colon        = []byte(": ")

	// Envoy's redis_proxy speaks without a code.
	proxyErrors = [...][]byte{
		[]byte("upstream failure"),
		[]byte("upstream protocol error"),
		[]byte("no upstream host"),
	}
)

// codeInScriptError finds the code in "ERR Error running script (call to f_…):
// @user_script:1: -READONLY You can't …".
func codeInScriptError(msg []byte) string {
	for {
		i := bytes.Index(msg, colon)
		if i < 0 {
			return CodeErr
		}
		msg = msg[i+len(colon):]
		inner := msg
		if len(inner) > 0 && inner[0] == '-' {
			inner = inner[1:]
		}
		if c := firstWordCode(inner); c != CodeOther && c != CodeErr {
			return c
		}
	}
}

func firstWordCode(msg []byte) string {
	word := msg
	if i := bytes.IndexByte(word, ' '); i >= 0 {
		word = word[:i]
	}
	switch string(word) {
	case CodeErr:
		return CodeErr
	case CodeNoScript:
		return CodeNoScript
	case CodeReadOnly:
		return CodeReadOnly
	case CodeLoading:
		return CodeLoading
	case CodeNoAuth:
		return CodeNoAuth
	case CodeWrongPass:
		return CodeWrongPass
	case CodeNoPerm:
		return CodeNoPerm
	case CodeMasterDown:
		return CodeMasterDown
	case CodeClusterDown:
		return CodeClusterDown
	case CodeTryAgain:
		return CodeTryAgain
	case CodeMoved:
		return CodeMoved
	case CodeAsk:
		return CodeAsk
	case CodeCrossSlot:
		return CodeCrossSlot
	case CodeBusy:
		return CodeBusy
	case CodeOOM:
		return CodeOOM
	case CodeMisconf:
		return CodeMisconf
	case CodeNoReplicas:
		return CodeNoReplicas
	case CodeWrongType:
		return CodeWrongType
	case CodeExecAbort:
		return CodeExecAbort
	case CodeUnblocked:
		return CodeUnblocked
	case CodeDenied:
		return CodeDenied
	}
	for _, p := range proxyErrors {
		if bytes.HasPrefix(msg, p) {
			return CodeUpstream
		}
	}
	return CodeOther
}
