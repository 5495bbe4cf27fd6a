package redisproto

import "testing"

func TestErrorCode(t *testing.T) {
	for msg, want := range map[string]string{
		"ERR unknown command 'NOPE'": CodeErr,
		"ERR":                        CodeErr,
		"NOSCRIPT No matching script. Please use EVAL.":                            CodeNoScript,
		"READONLY You can't write against a read only replica.":                    CodeReadOnly,
		"READONLY You can't write against a read only replica. script: f_1, on @u": CodeReadOnly,
		"LOADING Redis is loading the dataset in memory":                           CodeLoading,
		"NOAUTH Authentication required.":                                          CodeNoAuth,
		"WRONGPASS invalid username-password pair or user is disabled.":            CodeWrongPass,
		"NOPERM this user has no permissions to run the 'evalsha' command":         CodeNoPerm,
		"MASTERDOWN Link with MASTER is down":                                      CodeMasterDown,
		"CLUSTERDOWN The cluster is down":                                          CodeClusterDown,
		"TRYAGAIN Multiple keys request during rehashing of slot":                  CodeTryAgain,
		"MOVED 3999 127.0.0.1:6381":                                                CodeMoved,
		"ASK 3999 127.0.0.1:6381":                                                  CodeAsk,
		"CROSSSLOT Keys in request don't hash to the same slot":                    CodeCrossSlot,
		"BUSY Redis is busy running a script.":                                     CodeBusy,
		"OOM command not allowed when used memory > 'maxmemory'.":                  CodeOOM,
		"MISCONF Redis is configured to save RDB snapshots":                        CodeMisconf,
		"NOREPLICAS Not enough good replicas to write.":                            CodeNoReplicas,
		"WRONGTYPE Operation against a key holding the wrong kind of value":        CodeWrongType,
		"EXECABORT Transaction discarded because of previous errors.":              CodeExecAbort,
		"UNBLOCKED client unblocked":                                               CodeUnblocked,
		"DENIED Redis is running in protected mode":                                CodeDenied,
		"upstream failure":        CodeUpstream,
		"upstream protocol error": CodeUpstream,
		"no upstream host":        CodeUpstream,
		"":                        CodeOther,
		" ":                       CodeOther,
		"noscript":                CodeOther,
		"NOSCRIPTS x":             CodeOther,
		"INVALID_ARGS limit":      CodeOther,
		// As Redis 5 and 6 wrap them.
		"ERR Error running script (call to f_ab): @user_script:1: -READONLY You can't write against a read only replica. ": CodeReadOnly,
		"ERR Error running script (call to f_ab): @user_script:3: @user_script: 3: -OOM command not allowed":               CodeOOM,
		"ERR Error running script (call to f_ab): @user_script:1: WRONGTYPE Operation against a key":                       CodeWrongType,
		"ERR Error running script (call to f_ab): @user_script:1: attempt to index a nil value":                            CodeErr,
		"ERR Error running script":           CodeErr,
		"ERR other: -READONLY in some text":  CodeErr,
		"ERR Error running script: ":         CodeErr,
		"ERR Error running script (x): -":    CodeErr,
		"ERR Error running script (x): ERR ": CodeErr,
	} {
		v := Value{Kind: Error, Str: []byte(msg)}
		if got := v.ErrorCode(); got != want {
			t.Errorf("%q: got %q, want %q", msg, got, want)
		}
		if n := testing.AllocsPerRun(10, func() { v.ErrorCode() }); n != 0 {
			t.Errorf("%q: %v allocations, want 0", msg, n)
		}
		v.Kind = SimpleString
		if got := v.ErrorCode(); got != "" {
			t.Errorf("%q as a simple string has code %q", msg, got)
		}
	}
}
