"""Words of any language find the note that holds them, without a model: a small vault, and what people type."""

import zlib
from collections.abc import Iterator

import pytest

from memem.notes import save
from memem.search import find, fulltext, refresh
from memem.workspace import Workspace
from tests.builders import open_home

NOTES = {
    "french": "L’accès à la base de données est limité aux ingénieurs d'astreinte; l'œuvre du stagiaire attend.",
    "german": "Die Größe des Verbindungspools für Müller steht in der Straßenliste.",
    "polish": "Gałąź wydania w Łodzi jest chroniona przed wypychaniem.",
    "danish": "Smørrebrød bestilles til Ørsteds møde hver fredag.",
    "vietnamese": "Đường dẫn cấu hình của máy chủ Nguyễn nằm trong thư mục gốc.",
    "turkish": "Işık sunucusu Diyarbakır'da, yedeği İstanbul'da çalışır.",
    "russian": "Пароль базы данных лежит в хранилище, ключ обновляет Артём.",
    "ukrainian": "Комп’ютер збірки вимикають на вихідні.",
    "greek": "Ο κωδικός λάθους εμφανίζεται στον διακομιστή.",
    "arabic": "إعداداتُ الخَادِمِ محفوظة في مكتبة المشروع، ورقم المنفذ ٨٤٤٣.",
    "persian": "کاربر می\u200cخواهد پروندهٔ پیکربندی را ببیند.",
    "hebrew": "הַשָּׁרָת מֻפְעָל מֵחָדָשׁ בְּכָל לַיְלָה.",
    "hindi": "डेटाबेस की फ़ाइल ज़रूर सहेजें।",
    "thai": "ไฟล์ตั้งค่าการเชื่อมต่อฐานข้อมูลอยู่ในโฟลเดอร์หลัก",
    "korean": "데이터베이스를 재시작하면 대기열이 비워진다.",
    "japanese": "メール・アドレスの検証はサーバーで行い、葛\U000e0100城さんが見直す。",
    "half width": "ﾊﾞｯｸｱｯﾌﾟは毎晩とる。",
    "simplified": "支付服务的 redis 连接池 timeout 设置为三秒，超时后重试两次。",
    "traditional": "資料庫的備份每晚執行，保留七天。",
    "full width": "ＡＰＩ　ＫＥＹ は ２０２６年 に更新、ｕｓｅｒ＿ｎａｍｅ も同じ。",
    "hyphenated": "The co\u00adoperative scheduler yields every tick.",
}

ASKED = [
    ("accès données", "french"),
    ("acces donnees", "french"),
    ("qui a l'accès ?", "french"),
    ("astreinte", "french"),
    ("oeuvre", "french"),
    ("größe", "german"),
    ("GROSSE", "german"),
    ("muller", "german"),
    ("strassenliste", "german"),
    ("gałąź", "polish"),
    ("galaz lodzi", "polish"),
    ("smorrebrod", "danish"),
    ("orsteds", "danish"),
    ("đường dẫn", "vietnamese"),
    ("duong dan", "vietnamese"),
    ("NGUYEN", "vietnamese"),
    ("IŞIK", "turkish"),
    ("isik", "turkish"),
    ("DİYARBAKIR'DA", "turkish"),
    ("istanbul'da", "turkish"),
    ("ПАРОЛЬ", "russian"),
    ("пароль", "russian"),
    ("Артем", "russian"),
    ("комп'ютер", "ukrainian"),
    ("компʼютер", "ukrainian"),
    ("ΚΩΔΙΚΟΣ", "greek"),
    ("διακομιστη", "greek"),
    ("اعدادات الخادم", "arabic"),
    ("مكتبه", "arabic"),
    ("8443", "arabic"),
    ("كاربر", "persian"),
    ("می خواهد", "persian"),
    ("השרת", "hebrew"),
    ("जरूर", "hindi"),
    ("फाइल", "hindi"),
    ("ฐานข้อมูล", "thai"),
    ("ตั้งค่า", "thai"),
    ("데이터베이스", "korean"),
    ("대기열은", "korean"),
    ("\u110c\u1162\u1109\u1175\u110c\u1161\u11a8", "korean"),  # as a Mac writes it, in pieces
    ("メールアドレス", "japanese"),
    ("メール・アドレス", "japanese"),
    ("ｻｰﾊﾞｰ", "japanese"),
    ("サーバ", "japanese"),
    ("葛城", "japanese"),
    ("バックアップ", "half width"),
    ("redis 连接池 timeout", "simplified"),
    ("超时怎么办", "simplified"),
    ("池", "simplified"),
    ("付", "simplified"),
    ("資料庫", "traditional"),
    ("備份", "traditional"),
    ("api key", "full width"),
    ("user_name", "full width"),
    ("2026", "full width"),
    ("cooperative", "hyphenated"),
]


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """A home with all notes, which the tests only read."""
    ws = open_home(tmp_path_factory.mktemp("languages"))
    for language, text in NOTES.items():
        save.save(ws, text, title=language)
    yield ws
    ws.close()


@pytest.mark.parametrize(("query", "language"), ASKED)
def test_a_query_finds_the_note_in_its_language_first(vault: Workspace, query: str, language: str) -> None:
    assert [hit.title for hit in find.search(vault, query, limit=1)] == [language]


@pytest.mark.parametrize("query", ["mueller", "资料库", "資訊"])
def test_spelling_variants_are_not_folded(vault: Workspace, query: str) -> None:
    assert find.search(vault, query) == []


def test_indexed_words_of_sample_notes_are_pinned_to_this_derivation() -> None:
    held = "\n".join(map(fulltext.index_text, NOTES.values()))
    assert (refresh.DERIVATION, zlib.crc32(held.encode())) == (5, 0x9707293E), (
        "other words: raise DERIVATION, then change this"
    )
