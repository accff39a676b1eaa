/**
 * How people put things, and what tools say for it: `said said > told told;`, one way only, unlike the groups of
 * search-thesaurus.ts. Here verbs with a particle, or a question with its measure, that have another word in between at
 * times: "turn the light off", "how full is the disk". What they say, their first word alone does not.
 */
export const PHRASES = `
turn_on switch_on power_on fire_up boot_up spin_up bring_up start_up > start enable activate launch resume; turn_off
switch_off power_off shut_off shut_down close_down power_down take_down bring_down > stop disable deactivate off terminate
pause suspend; get_rid throw_away throw_out chuck_out toss_out take_out wipe_out > delete remove purge drop; clear_out
clean_out clear_up clean_up tidy_up free_up > delete purge prune empty vacuum reclaim unused cleanup; go_back roll_back
step_back bring_back put_back change_back switch_back > restore rollback undo revert back previous; set_up kick_off put_up >
create start schedule install configure add; put_off push_back hold_off > postpone snooze delay update; call_off > cancel;
look_up look_for find_out > get search find lookup query; look_into dig_into > search research analyze inspect; look_over
read_through > review analyze summary; look_through go_through > search list read; check_out > checkout; write_down note_down
jot_down put_down take_down > create note log record write add append; write_back get_back > reply; fill_in fill_out > fill
form; sign_up > subscribe create enroll register; sign_off > approve; log_in sign_in > login user role; hand_over pass_on
give_to > assign transfer forward; give_up give_back let_go > release delete return; send_back > refund reject return;
take_back > undo refund revert; take_over > assign acknowledge; run_out time_out > expire ttl; let_go > terminate; kick_out
throw_off kick_off lock_out shut_out keep_out > ban remove kill suspend block; let_in let_through open_to > allow authorize
unlock approve permission; keep_posted keep_informed keep_eye let_know > notify subscribe track watch follow monitor alert;
put_aside set_aside put_away > stash archive; put_together > combine merge create build; put_online go_live put_live make_live
bring_live > publish deploy; take_offline take_off pull_off > unpublish remove delete deactivate archive; put_on > add;
bring_in > invite add; break_down > group split aggregate; split_up cut_up > split; cut_out > remove trim extract; cut_off >
trim; tick_off check_off cross_off > complete finish; work_out figure_out > calculate get; copy_over > copy; send_out > send
publish; send_on > forward; send_over > send upload; hang_up > end; ring_up call_up phone_up > call; sum_up add_up > sum
summarize total; boil_down > summarize; warm_up heat_up cool_down > temperature thermostat; scale_up scale_down > scale
resize; speed_up > index cache performance optimize; back_up > backup snapshot export dump copy; catch_up > summary history;
read_out read_aloud > speech speak announcement; type_in key_in > type fill; drop_in put_in put_into > add insert write upload
set; log_out sign_out > logout revoke; to_do > todo task; move_on skip_over > skip next; stay_at sleep_at > hotel; go_over
switch_over switch_to change_to > checkout switch move set; bring_together > merge join combine group; join_together > merge;
hand_out > share grant assign send; point_at point_to > set update; come_up show_up > position ranking search; pull_up
bring_up > get show; pull_down > pull download; talk_about > mention discuss topic trend; ask_for > request; sign_for >
signature; wait_for > wait pending queue; stand_in fill_in cover_for > override substitute; work_with connect_to > connect
link; belong_to > member group; blow_up fall_over go_down > crash fail error incident alert; pass_along > forward; open_up >
open unlock create; lock_up > lock; how_many > count number total headcount stats list; how_much > cost amount total usage
quota balance price; how_long > duration time uptime; how_far > distance lag; how_high > elevation height; how_big how_large >
size stats usage info; how_full > usage free; what_time > timezone hours; who_can > permission list member; who_is who_are >
user member participant get list; who_does > list get user; look_like > screenshot snapshot image describe; get_to >
directions; take_long > duration slow; in_shape > health status check; good_shape > health status check; not_sent never_sent
not_send > draft; half_written half_finished > draft; pull_in > pull request create merge; take_off take_out > revoke;
take_away take_down > remove delete revoke; put_out > archive; give_away > revoke remove; come_from > source; made_of >
component structure; begin_with start_with > scan prefix pattern search; go_through > apply run execute; leave_running
keep_running > start background process; hold_on > queue; move_to > move transition update; move_on > advance; pass_to >
assign; set_off > trigger; make_bigger make_larger make_smaller > resize scale; make_faster > index optimize; make_sure >
check verify; bring_into > merge add import; another_time once_more > retry rerun; say_ok let_pass > approve accept; used_up
use_up > usage consumption credit; pay_for > cost usage spending bill; keep_away keep_off stay_away > block firewall deny ban;
still_same stay_same > drift diff compare; call_sick > time leave request
`;

/** As {@link PHRASES}: single words. A word may stand on several lines. */
export const SAYINGS = `
shut > close lock stop mute; hush quieten > mute silence; tick > complete; nudge ping > reminder notify send; poke > notify
trigger; erase forget scrap ditch nuke bin kill cancel drop > delete remove; erase forget scrap ditch > drop clear; bin >
trash; expunge outdated obsolete stale > delete archive; remember memorize memorise > create add store save entity observation
remind; know knew known > entity search get; learn > course read get; stash keep safe safely hold > store save secret put
archive; save > create store put write export add set; enter put note > record add create write set insert update; insert >
append add; begin > create start new; commence kick > create start begin new; build craft produce > create generate; form >
create; empty blank fresh > create new; hibernate sleep snooze > suspend pause stop; halt freeze > stop cancel pause suspend
lock; resign resigned quit leaves fired fire laid > terminate employee; swap exchange > replace update edit override switch;
replace > edit update rotate; tweak adapt reword wrong mistake typo > update edit modify change correct; correct fix > update
edit; reopen > open restore; shift reschedule bring > move update; relocate > move; call name > rename title; rename > update
title; merge > combine; propose suggest offer > create request estimate draft; ask > request search question; raise > create
update escalate increase; report > create issue incident get run; defect glitch flaw broken > issue bug error; complain
complains complained > ticket alert error issue; scold warn > alert notify warning; tell inform announce > send post publish
notify message announcement; ask > message; shout broadcast > announcement publish send; drop > send post; line > message row;
word phrase > draft write text; paragraph > block text content clause; passage section chapter > block text content; heading >
block title; compose > draft write create; attach enclose > upload attachment file add; cv resume > file candidate; invite >
add; join > add member enroll invite; respond > accept decline reply; say > accept decline reply respond; agree > accept
approve; nod green > approve; refuse > decline reject; permit grant entitle > permission add role authorize; access >
permission role authorize; see > permission view list; visible > permission; edited modified touched changed > history
revision author update blame log; happened happening lately recently > history log list event recent; earlier former > history
previous version; shipped > release; landed > commit merge list; green passed passing > status run workflow test; red failing
> alarm failed status; fail failed > error; version release > publish tag; ship > deploy release publish; try test experiment
> branch run; place > location; main master trunk develop > branch; origin upstream > push pull remote; remote > push pull;
local > commit branch; checkout > branch; source > code; propose > pull merge; ci > pipeline build workflow job; nightly >
schedule task cron; wiki handbook manual guide howto > page article documentation; document > create write page; faq > article
help; entry > page post record; iteration > sprint cycle milestone; deadline > milestone due date; due > milestone date;
booked booking > time worklog reservation; hours spent > worklog time; undertaking effort program > project initiative; goal
aim > initiative objective; states stages > status workflow; stage step > status state; mention > usergroup; room > channel;
dm whisper > message; colleagues team everyone > channel group member; vacation > responder; agenda diary schedule > calendar
event; appointment lunch dinner date > event calendar; noon oclock pm > event time hour; party gathering > event; mailbox
inbox mail > email gmail message thread; postbox > email; newsletter > unsubscribe; receipt > expense label; sort > filter
rule; sorting > filter rule sort; tag > label; google > gdrive gsheets gcalendar gmail gmaps; gdoc > gdrive document; doc docs
> document page file; slides deck > presentation; sheet > gsheets spreadsheet range; cell column row > range sheet; tab >
sheet; tabulate crosstab summarise > pivot aggregate group; pivot > aggregate; template > copy; garbage > trash; bold colour >
format; discuss discussing discussion debate > comment thread conversation; parent > move; below > move parent; nest > move;
mongo > mongodb; sql > postgres query; psql pg > postgres; mysql > sql database; login > role user; disk space storage > size
usage stats vacuum quota; large big huge > size stats usage; size > stats usage; mass bulk > many batch; many > batch; row
record > insert update execute; older younger > filter find; clean > delete purge vacuum; cached > cache redis; subscriber
subscribers > publish channel; uptime > info status server; running > info status uptime server; compute > warehouse; owe owes
owed outstanding overdue unpaid > invoice balance tax bill; due > invoice; selling sell sale > product price order; contest
contested disputed > dispute; purchase buy buyer bought > order customer checkout; group > collection list segment; bundle
together > collection list segment group; range assortment > collection; shirt dress shoes goods > product; shop store >
shopify product; firm business client account > company customer contact; firms > company; won lost closed > deal update
opportunity; prospect > lead; crm > hubspot salesforce contact; segment > list group; saved > report; automation > flow
workflow; automations > flow workflow automation; switched enabled active > list status activate; canned > macro template;
case > ticket; duplicate > merge clone; complaint > ticket; alarm emergency down outage > incident alert create; burning fire
> incident alert issue error; broken > incident alert; covers cover weekend > oncall schedule override shift; duty > oncall;
overview screen > dashboard summary board; latency slow > metrics query; target > slo objective; objective > slo; uptime >
slo; machines > host node instance; crash > issue error; crashes crashing > issue error crash; exception > issue; app >
service deployment application; fixed solved > resolve; boards > dashboard; warn > rule monitor; numbers figures > metrics
data report stats; source > datasource; password > secret credential; nodes > node; force recreate bounce > restart delete;
stuck hanging hung frozen > restart kill abort delete; printed says said > logs output log; locally registry > push pull; ram
memory > stats usage top; take takes eat eats consume > usage stats top; vm box machine > instance server; forever permanently
> delete terminate; firewall port > security group rule authorize ingress; inside contents > list object get; backups > bucket
snapshot; colleague newcomer hire > user member add create; edge > worker; live > tail stream realtime current; https encrypt
encrypted > ssl tls encryption; ssl > tls encryption; nobody > lock protect remove permission; infrastructure infra >
terraform state resource workspace; manage managed > state list; readymade ready > template module; vpc subnet > network
security; network > security; said commented > comment; mockup prototype > figma file design; structured layers > tree schema
file structure; structure > tree schema file; popup alert prompt > dialog; okay ok > accept; phone > mobile; sized > resize;
field > type input; picture pictures photos pic > image photo; photo > image; tldr gist short > summarize summary; link > url;
job > status; finished done yet > status check complete state; sunscreen sunburn tan > uv index; rain rained raining dry wet
umbrella > weather forecast; snow storm fog wind > weather alerts forecast; birthday > date historical; hot cold warm degrees
> weather temperature; tomorrow weekend > forecast; past ago > historical history; walk drive cycle ride > directions route
distance; station museum airport > place directions; time > timezone hour; road > street address; street > address;
coordinates > geocode; latitude longitude > geocode coordinates; near close > nearby places local search; nearby > places
local search; trip journey > booking travel flight; travel > booking flight; stay > hotel book; rail railway > train; plane
fly > flight; cab taxi > car; ticket > booking; music song songs tune > spotify track playback play; track > spotify playback
play; similar > recommendations; record > album; next > queue; karaoke singer vocal > vocals isolate; vocals > isolate; louder
quieter > volume; blinds curtains shades > cover; morning automatically > automation schedule cron; burglar intruder
protection > alarm arm security; door > camera lock; lights > light; warmer colder > thermostat temperature; heating >
thermostat; robot > vacuum; productive > productivity stats; topics > tags label; wrote written writes > author search
publications note; author > search publications note; professor scientist researcher > author publications; literature
reference latex > bibtex bibliography citations; new > track notify; protein > nutrition; expert experts think > analyst
ratings recommendations; analyst > ratings recommendations; share > stock; gold silver oil commodity > price symbol; years >
history historical; shareholder shareholders pay > dividends; spent spend > expense cost usage; paid pays > payment record;
vat > tax; client > payment; off > leave time; staff personnel crew workforce > employee; engineering > department team
headcount; department > team headcount; many > count number total headcount stats; video > recording; footage > recording
video; noisy loud > mute; mic microphone > mute audio; line > number phone; office > organization; called rang > calls; login
code > verification; extension addon > plugin; rude hate troll > delete spam comment; cover hero > featured image; twitter x >
tweet social post; talked > mentions; later tomorrow > schedule; file > path; unpack unzip zip tar > archive extract compress;
executable writable chmod > permissions mode; text > content; quit > kill stop; linux windows os kernel > system info version;
version > system info; reachable listening > port open scan; docx word html > convert document; smaller > compress resize; qr
> barcode; webp png jpg jpeg > image format convert; sound > voice speech audio; voice > speech audio; reading > speech;
formatting > document layout; layout > document; terms terminology wording > glossary; works lives married friend > relation
entity; forget > entity; google bing > seo search ranking; place rank > ranking position; wrong bad > audit check issue; words
> keyword text; advertise advert adverts > ads ad campaign keyword; vectors > embeddings points vector; close closest mean
means alike > similarity nearest similar; pulse > heart rate; kilos pounds weigh > weight; marathon race jog jogging >
training workout plan run; dinner dinners lunch breakfast > meal recipe; thai italian chinese sushi pizza > restaurant
cuisine; schools > neighborhood; interest > rates mortgage; bank > account; loan > mortgage; flat apartment > listing property
viewing; saturday sunday monday > schedule date; confidentiality nda > clause contract; judge ruled ruling > court case law
decision; agreement > contract; scam phishing fake > reputation malicious; bug hole > vulnerability; api token > secret
credential; essay homework paper > assignment; marks > grade; class > course student; column > list; point > checklist item;
item > checklist; moderator admin > role; top > pin; waiting wait waits > queue pending inbox; turn > enable disable; elastic
es > elasticsearch; text > full search; readers > consumer; beginning start > reset; chat chats > conversation message inbox;
answer answers answered > reply respond conversation; open > get read retrieve navigate create; show shows display > get list
read retrieve; expose > create service publish forward; settings > config configmap variable; setting > config configmap
settings variable; stored > config secret; area > namespace workspace space; space > namespace workspace; separate > create
isolate; staging production > namespace workspace environment; environment > namespace workspace; running > list process pods;
runs > list status process pods; apps > deployment service; persistent disk > volume; storage > bucket volume; bucket >
volume; enter return > key press; hit push tap > press click; press > click; slider > drag; pull slide > drag; print > save
pdf export; urls > map site list; pages > map site urls list; fly > booking; flies flying > flight booking; later earlier >
change update move; routine > automation scene; sources builds > references cite; debt debts > balance liabilities; cheap
criteria > screen search filter; screen > search filter; filter > screen search; supplier suppliers > vendor bill; quote >
estimate; bill > invoice convert; days > time leave; title job > position employee profile; interview passed > candidate
advance stage; applicant > candidate; audience > webinar; large public > webinar audience; shape > health; heart thumbs >
reaction; intact corrupt sha256 md5 > checksum hash; hash > checksum; server > process start; background > process; watch >
tail follow; grows growing > tail follow watch; contain contains contained > show get contents; mark > tag label; wide pixels
px tall > resize width; speakers narrator > voices; choose available > list; remembered memories > graph memory entities;
success conversion > goal; sale > campaign promotion; advertising > campaign ad create; sentence > text; parties > signers;
deal > contract; safe secure > scan security vulnerabilities check; hidden > archive; post > message webhook send create;
posts posted posting > message webhook post send create; script > webhook run command; defined definition > mapping schema
describe get; faster > index; urgent > update priority; priority > update; revision > commit version; reported > issue;
negotiation stage > update opportunity deal; sensitive threshold > update monitor; deployed > event release annotation; key >
dsn token credential; rotation > schedule; caller > customer requester; lamps mood > scene light; wake > resume start trigger;
readme > file contents; config settings > file; json yaml > file config; email mail > send; pharmacy shop close closes opens >
hours place details; jazz rock pop classical > music playback search; plane flight > search; planes cheapest > flight search;
cheap > flight; text texting > sms send message; sms > send message; recording > transcribe; recorded > transcribe recording;
insurance > benefits; boarding > check; rows > query select; ls cd grep cat > command exec shell; api calls > requests
network; exec > pod container; table > reserve; crashes crash > list; photos > search images; web > website; internet site >
web website; repository repo > git log; articles > page article entry post; article > page entry post; italian french german
spanish > locale language translate; language > locale translate; cve > vulnerability; log4shell heartbleed > cve
vulnerability; voice > clone; main master > merge; broke broken > retry failed; failed > retry; fortnight month > cycle sprint
period; congratulate thank greet wish > post send message; away busy absent vacation > presence status profile; sort > label;
mails > email; uninvite disinvite attend > update event attendees; readable viewable > permission share; visible access >
share; complete full > export; bars pie line diagram plot > chart graph panel render; multiply divide subtract plus minus sum
> formula calculate; alphabetical alphabetic ascending descending > sort; disconnect > kill session terminate stop; sluggish
lag > slow performance; slow > performance; cache > set key expire; fee fees charge > price; holder cardholder > customer
charge; chargeback fraud > dispute; returns returned > refund; arrived depot warehouse stock > inventory; questionnaire survey
poll > form submissions; satisfied unhappy content pleased > satisfaction ratings feedback; paged > incident acknowledge; ill
sick > leave override absence; hop hops > trace span; died dies dead > logs crash; twice double fewer > scale; amazon > aws;
addresses ip ips > firewall rule address; mx cname txt > dns record; differ differs > diff drift compare; pricey expensive
price > cost estimate; hex palette brand > color tokens; accessibility > snapshot; a11y > accessibility snapshot; load loaded
loading > wait; offline mirror > crawl download; headlines politics election > news; jacket coat > weather forecast
temperature; umbrella > temperature; pollen hay fever smog dust > air quality; bike bicycle car foot > directions route;
fastest shortest quickest > directions route; bakery cafe pharmacy bar garage garages hospital > places search local; tickets
> flight search; gate terminal > flight status; beethoven mozart > music playback play; rock > play; sings sung singer >
playing artist track; dark > light turn; machine > entity state device; thought thoughts idea > note append; pound yen dollar
euro franc > exchange rate currency; richer poorer worth wealth > portfolio value; boss superior > manager reporting org;
video > meeting; tasks todos actions > action items summary task; digits pin > code verification; confirm > check verify
approve; verify > check approve; hot buzz > trending topics; trending > topics; box server machine host > remote ssh; daily
weekly > schedule cron recurring; edits > diff changes; letter scanned paper > scan ocr; scan > ocr; hide mask censor >
redact; ssn > redact secret; logo icon drawing poster > image generate; minutes protocol > summary transcript notes; writing
written > text transcribe; dub > translate speech; tongue > language; busy crowded > visitors realtime traffic; step > funnel;
stage > funnel step; drop > funnel abandon; spend > budget; walked > activity steps; rested tired slept > sleep; vegan
vegetarian gluten > diet recipes; dishes dish > recipes; seats > table reserve; bungalow villa studio cottage garden bedroom >
listings home; traps pitfalls > clauses risky; leaked exposed > secrets breach; renew renewal expires > expiry certificate;
far > progress distance lag; compile > build; unread > lag behind pending; tenant landlord > party signer contract; shoppers
shopper > visitors customer
`;
