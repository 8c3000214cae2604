package extract

import "strings"

func set(words string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		m[w] = true
	}
	return m
}

// A prefilter holds, for each first letter, the lengths of a set's words. Most words are in no set, and the prefilter
// saves their lookup. First letters must be ASCII.
type prefilter [128]uint64

func newPrefilter(words map[string]bool) (h prefilter) {
	for w := range words {
		h[w[0]] |= 1 << len(w)
	}
	return h
}

func (h *prefilter) mayContain(word string) bool { return h[word[0]&127]>>len(word)&1 != 0 }

// functionWords are not names, and are stripped from the beginning and end of a run.
var functionWords = set(`a an the i we you he she it they me us him her them my our your his its their this that these those
there here who what when where why how which and or but so if then than as at by for from in into of off on onto out over
to up with without about after before during until while since because not no never yes very much more most some any all
each both either neither is are was were be been being am do does did done has have had having will would can could should
shall may might must also just only even still now today tomorrow yesterday tonight please ok okay hi hello hey thanks
dear yeah yep yup nah nope alright wow uh um mm mmm mm-hmm uh-huh hm hmm huh kay re fwd note todo fixme let lets let's i'm i've i'll it's we're we've don't didn't can't won't isn't wasn't`)

// starters are common words that often begin a sentence and are not names when they stand alone.
var starters = set(`add added agreed always another apparently ask asked avoid based bought bring build built call
called change changed check checked clean click close come consider created current currently customer customers decided
default delete deploy deployed deployment despite did disable discussed do does done each early enable error errors every
everyone everything failed feature feedback file files finally find first fix fixed follow found get give given go good great
had having help high however if important in initial install instead issue just keep last later latest learn learned left less
like likes list long look looks love low made make many maybe meet meeting met moved move need needs new next nobody nothing
often old once one open other others our owner people perhaps plan planned planning prefer prefers probably put question read
really recently release released remember remind remove removed report reported request review reviewed run running said same
save saw say second see seems send set several ship shipped should show similar some someone something sometimes soon sorry
start started status stop such summary sure switched take talk talked team teams tell test tested tests thank that then things
think third though three through time told took total tried try turn two under update updated upgrade use used user users using
usually version visit visited wait want wants watch went when whenever work worked working works write written wrote yet`)

var months = set(`january february march april may june july august september october november december
jan feb mar apr jun jul aug sep sept oct nov dec`)

var weekdays = set(`monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri sat sun`)

// tools are names of tools that are written in lower case or with one capital.
var tools = set(`aws gcp azure postgres postgresql mysql mariadb sqlite redis mongodb cassandra dynamodb kafka rabbitmq nats
kubernetes docker terraform ansible helm nginx envoy grafana prometheus datadog sentry splunk jenkins circleci github gitlab
bitbucket jira confluence slack notion figma linear trello asana zoom python golang rust java javascript typescript kotlin swift
ruby scala haskell erlang elixir perl php react vue angular svelte django flask rails spring nextjs fastapi pytorch tensorflow
jax pandas numpy spark airflow snowflake bigquery redshift elasticsearch opensearch lucene bleve raft etcd consul zookeeper
grpc graphql openapi webpack vite bazel cmake llvm linux ubuntu debian fedora macos windows android ios firefox chrome safari
vim emacs vscode neovim intellij openai anthropic claude gemini llama mistral stripe twilio auth0 okta cloudflare vercel netlify
heroku lambda s3 ec2 gke eks supabase firebase clickhouse duckdb pinecone weaviate qdrant`)

// ambiguousTools are tools whose names are also common words: only a capital letter shows that the tool is meant.
var ambiguousTools = set("spring linear notion swift rust safari pandas ruby spark envoy consul helm sentry lambda zoom mistral react")

var toolPrefilter = newPrefilter(tools)

var organisations = set(`inc corp corporation ltd llc gmbh ag plc co company bank university college institute foundation
labs lab group holdings partners ventures capital agency ministry department hospital school airlines studios systems
technologies software industries association committee council`)

var projects = set(`project team operation program programme product plan initiative mission campaign series phase sprint epic
version release chapter section room building floor gate flight invoice ticket order`)

var placeWords = set(`street avenue road square park lake river mountain mount island bay beach valley county city airport
station bridge harbor harbour`)

// places are well-known places, enough to tell a city from a surname in plain talk.
var places = set(`amsterdam athens atlanta auckland austin bangalore bangkok barcelona beijing belgrade berlin bogota bologna
boston brisbane brussels bucharest budapest cairo calgary cambridge chicago cologne copenhagen dallas delhi denver detroit dubai
dublin edinburgh florence frankfurt geneva glasgow hamburg helsinki houston istanbul jakarta johannesburg kyiv kyoto lagos leeds
leipzig lima lisbon london lyon madrid manchester marseille melbourne miami milan montreal moscow mumbai munich nairobi naples
oslo ottawa oxford paris perth philadelphia phoenix portland porto prague quebec reykjavik rome rotterdam santiago seattle seoul
seville shanghai singapore sofia stockholm stuttgart sydney taipei tallinn tokyo toronto turin utrecht vancouver venice vienna
warsaw washington wellington zagreb zurich argentina australia austria belgium brazil canada chile china colombia croatia denmark
egypt england estonia finland france germany greece hungary iceland india indonesia ireland israel italy japan kenya korea
latvia lithuania malaysia mexico morocco netherlands nigeria norway pakistan peru poland portugal romania russia scotland serbia
slovakia slovenia spain sweden switzerland taiwan thailand turkey ukraine vietnam wales europe asia africa america california
texas florida ohio oregon bavaria tuscany`)

// placePrepositions are the words after which a capitalised word is likely a place.
var placePrepositions = set(`in near towards toward to from`)

var placeVerbs = set(`live lives lived living move moves moved moving travel travels traveled travelled fly flies flew born based
located visit visits visited headquartered relocate relocated arrive arrived commute commutes stay stays stayed office offices`)
