package override

import "strings"

// ReadScript reads the overrides that hold. KEYS[1] is the hash; ARGV[1] the
// digest of the list that the caller has, or "". It writes nothing, so that it
// may run on a replica and by a user who may not write.
//
// It returns the time in us, the list's digest, how many entries are beyond the
// bounds or have bytes that no entry has, and the list (see Each) unless the
// caller has it: then "". The hash is read in bounded steps, so that one that
// somebody filled can't stop Redis.
const ReadScript = `local t=redis.call('TIME')
local ms=t[1]*1000+math.floor(t[2]/1000)
local out,size,seen,skipped,cursor={},0,0,0,'0'
repeat
local r=redis.call('HSCAN',KEYS[1],cursor,'COUNT',500)
cursor=r[1]
for i=1,#r[2],2 do
local f,v=r[2][i],r[2][i+1]
seen=seen+1
local till=string.match(v,'^(%d+) ')
till=till and tonumber(till)
if not till or #f>2048 or #v>512 or string.find(f,'[%c ]') or string.find(v,'%c') then
skipped=skipped+1
elseif till>ms then
size=size+#f+#v+2
if #out>=1000 or size>262144 then skipped=skipped+1 else out[#out+1]=f..' '..v end
end
end
until cursor=='0' or seen>4000
if cursor~='0' then skipped=skipped+1 end
table.sort(out)
local list=table.concat(out,'\n')
local sha=redis.sha1hex(list)
if sha==ARGV[1] then list='' end
return {string.format('%.0f',t[1]*1000000+t[2]),sha,skipped,list}`

// Each calls f for every entry of a list, or with what is wrong with it. The list
// has a line for each: the field, a space, and the value.
func Each(list string, f func(field string, e Entry, err error)) {
	for list != "" {
		var line string
		line, list, _ = strings.Cut(list, "\n")
		field, value, _ := strings.Cut(line, " ")
		e, err := ParseEntry(field, value)
		f(field, e, err)
	}
}
